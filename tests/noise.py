"""Bounds of milliseconds on machines that are shared: a stall of the machine is no fault of the library.

A test that holds a promise to such a bound is tried three times at most. A library that broke the promise would break
it each time; a neighbour that took the processor for a moment does not.
"""

import pytest

noisy = pytest.mark.flaky(reruns=2, only_rerun=["AssertionError"])
