"""A node with more pools than the container's own: they stop together, and each is waited for in its turn."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import make_url

from tests.noise import noisy
from tests.pool.test_pool import Gate
from tests.proxy import Proxy
from tests.wiring.parts import system
from tests.wiring.test_modules import named
from wagoe_jobs import Registry, Runtime, WorkerPool, ref, running
from wagoe_jobs.containers import JobsContainer
from wagoe_jobs.node import Consuming

pytestmark = pytest.mark.timed
GRACE = timedelta(seconds=1)
QUEUES = ["a", "b", "c"]


def node(gate: Gate, jobs: Any) -> JobsContainer:
    """Three pools: the container's own, and two that a module brings."""

    def pool(runtime: Runtime, registry: Registry, queue: str) -> Iterator[WorkerPool]:
        with WorkerPool(runtime, registry, [queue], shutdown_timeout=GRACE) as made:
            yield made

    pools = {f"pool_{queue}": Consuming(pool, ref("jobs_runtime"), ref("job_registry"), queue) for queue in "bc"}
    workers = {"queues": ["a"], "shutdown_timeout_ms": 1_000}
    return system(named("shop", providers=pools, job_handlers={"work": gate}), jobs={**jobs, "workers": workers})


@noisy
def test_they_all_stop_claiming_before_the_first_is_waited_for() -> None:
    gate = Gate()
    with ExitStack() as booted:
        container: Any = booted.enter_context(running(node(gate, {"provider": "memory"})))
        for queue in QUEUES:
            container.client().enqueue("work", queue=queue)
        gate.wait_for(3)
        began = time.monotonic()
        try:
            booted.close()
            assert time.monotonic() - began < 2 * GRACE.total_seconds(), "no handler ends: the time is one for all"
        finally:
            gate.opened.set()


@noisy
@pytest.mark.fault(18)
def test_a_dead_network_is_waited_for_once(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wagoe_jobs.ending.CLEARING", timedelta(seconds=1))
    monkeypatch.setattr("wagoe_jobs.outage.PARTING", 1.0)
    gate, url = Gate(), make_url(redis_url)
    with Proxy(url.port or 0) as proxy, ExitStack() as booted:
        through = url.set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)
        container: Any = booted.enter_context(running(node(gate, {"provider": "redis", "redis": {"url": through}})))
        for queue in QUEUES:
            container.client().enqueue("work", queue=queue)
        gate.wait_for(3)
        proxy.drop_replies()
        gate.opened.set()
        began = time.monotonic()
        try:
            booted.close()
            assert time.monotonic() - began < 1 + 1 + 1 + 1 + 1
        finally:
            proxy.drop_replies(False)
            proxy.cut()
