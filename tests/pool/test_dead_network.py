"""A stop while nothing comes back from the store any more: bounded, however long the drivers wait for an answer."""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from sqlalchemy import make_url

from tests.noise import noisy
from tests.pool.test_pool import Gate
from tests.proxy import Proxy
from tests.until import until
from wagoe_jobs import Jobs, Registry, Runtime, WorkerPool, open_runtime

pytestmark = pytest.mark.timed
QUEUES = ["a", "b", "c"]


@pytest.fixture(params=["postgres", "redis"])
def dying(request: pytest.FixtureRequest) -> Iterator[tuple[Runtime, Proxy]]:
    """A runtime as an application opens it, over a network that can die."""
    url = make_url(request.getfixturevalue(f"{request.param}_url"))
    block = "redis" if request.param == "redis" else "db"
    with Proxy(url.port or 0) as proxy:
        through = url.set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)
        with open_runtime({"provider": block, block: {"url": through}}) as runtime:
            yield runtime, proxy
            proxy.cut()  # so that whoever still waits hears of it


@noisy
@pytest.mark.fault(18)
@pytest.mark.parametrize("ends", [True, False], ids=["handlers end", "handlers go on"])
@pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])
def test_a_stop_is_bounded_while_the_network_swallows_every_answer(
    dying: tuple[Runtime, Proxy], monkeypatch: pytest.MonkeyPatch, said: Callable[[], str], tasks: bool, ends: bool
) -> None:
    monkeypatch.setattr("wagoe_jobs.ending.CLEARING", timedelta(seconds=1))
    monkeypatch.setattr("wagoe_jobs.outage.PARTING", 1.0)
    runtime, proxy = dying
    gate = Gate()
    for queue in QUEUES:
        Jobs(runtime).enqueue("work", queue=queue)
    pool = WorkerPool(runtime, Registry({"work": gate}), QUEUES, count=2, virtual_threads=tasks)
    pool.start()
    gate.wait_for(3)
    proxy.drop_replies()
    if ends:
        gate.opened.set()
        until(lambda: pool.status().busy == 0)
    began = time.monotonic()
    try:
        assert not pool.stop(timedelta(seconds=0.5))
        assert time.monotonic() - began < 0.5 + 1 + 1 + 1 + 2 * tasks + 1
    finally:
        gate.opened.set()
        proxy.drop_replies(False)
        proxy.cut()
    assert "the store does not answer" in said() or "results could not be settled" in said()
