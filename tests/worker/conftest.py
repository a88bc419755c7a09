"""The houses and ledgers of the pool's tests, for single workers; `run` runs one job."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.pool.conftest import (
    _no_thread_is_left,
    house,
    ledger,
    open_house,
    pytest_generate_tests,
    room,
    said,
    shared_mariadb_url,
    shared_postgres_url,
)
from tests.pool.house import SOON, House
from wagoe_jobs.core.job import Job
from wagoe_jobs.registry import Registry
from wagoe_jobs.worker import Worker

__all__ = [
    "_no_thread_is_left",
    "house",
    "ledger",
    "open_house",
    "pytest_generate_tests",
    "room",
    "said",
    "shared_mariadb_url",
    "shared_postgres_url",
]

Run = Callable[..., Job]
Said = Callable[[], str]


@pytest.fixture
def run(house: House) -> Run:
    """Enqueue a job for a handler, run it once, and read it back."""

    def run_once(function: Callable[..., object], args: object = None, **options: Any) -> Job:
        id = house.enqueue("work", args, **options)
        with Worker(house.runtime, Registry({"work": function}), backoff=SOON) as worker:
            assert worker.work_one()
        return house.job(id)

    return run_once
