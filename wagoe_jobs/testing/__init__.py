"""For the tests of applications and of third adapters: the contract that every store keeps, and the machine.

`contract` has the table of cases and a runner that needs no test framework; `machine` needs hypothesis.
"""
