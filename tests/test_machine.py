"""The state machine against every backend: a modest, repeatable run by default, a long one on request.

`CHAOS_EXAMPLES=2000` (`./dev chaos`) runs that many examples from a random seed, which is printed;
`CHAOS_SEED=n` runs that seed again.
"""

import os
import secrets

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.backends import NAMES
from tests.conftest import Backends
from wagoe_jobs.testing.machine import machine_for

EXAMPLES = {"memory": 100}
SHRUNK = (Phase.generate, Phase.shrink)
CHAOS = int(os.environ.get("CHAOS_EXAMPLES", "0"))


@pytest.mark.timeout(300 + CHAOS * 10)
@pytest.mark.parametrize("name", NAMES)
def test_every_job_is_in_exactly_one_place(name: str, open_backend: Backends) -> None:
    machine = machine_for(lambda: open_backend(name))
    if CHAOS:
        number = int(os.environ.get("CHAOS_SEED", secrets.randbelow(2**32)))
        print(f"CHAOS_SEED={number}")  # shown when the test fails
        machine = seed(number)(machine)
    run_state_machine_as_test(
        machine,  # type: ignore[arg-type]  # whatever makes a machine will do
        settings=settings(
            max_examples=CHAOS or EXAMPLES.get(name, 12),
            stateful_step_count=40,
            derandomize=not CHAOS,
            database=None,
            deadline=None,
            phases=SHRUNK if name == "memory" else SHRUNK[:1],  # against a server, shrinking takes many minutes
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
