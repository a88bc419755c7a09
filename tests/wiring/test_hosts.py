"""A system starts and stops inside an asynchronous host, as an ASGI lifespan is, and in a plain script alike."""

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from dependency_injector import containers, providers
from sqlalchemy import Engine, create_engine, text

from tests.wiring.parts import MEMORY, Recorder, module, system
from tests.wiring.test_modules import named
from tests.wiring.test_order import is_open
from wagoe_jobs import WiringError, handler, ref, running
from wagoe_jobs.containers import JobsContainer

REPOSITORY = Path(__file__).parents[2]


@handler("add")
def add(args: dict[str, int]) -> int:
    return args["a"] + args["b"]


def on(url: str, **more: Any) -> JobsContainer:
    jobs = {"provider": "db", "db": {"url": url}, "workers": {"poll_interval_ms": 10}}
    return system(module("shop", job_handlers=[add]), jobs=jobs, **more)


def connections(url: str) -> int:
    """How many there are to the database, without the one that asks."""
    engine = create_engine(url)
    try:
        with engine.connect() as conn:
            asked = (
                "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            )
            return int(conn.execute(text(asked)).scalar_one())
    finally:
        engine.dispose()


def gone(url: str) -> bool:
    """Whether all connections end within seconds: the server notices a closed socket a little later."""
    pause = threading.Event()
    return any(connections(url) == 0 or pause.wait(0.05) for _ in range(200))


@pytest.mark.fault(68)
def test_an_asynchronous_host_leaves_nothing_open_and_nothing_unawaited(postgres_url: str) -> None:
    container = on(postgres_url)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with running(container) as up:
            id = await up.client().aenqueue(add, {"a": 1, "b": 2})
            job = await up.client().await_(id, timeout=20)
            assert job is not None
            assert job.result == 3
            yield

    async def host() -> None:
        async with lifespan(None):
            assert connections(postgres_url) > 0

    threads = threading.active_count()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        asyncio.run(host())
        gc.collect()
    assert [str(each.message) for each in told] == []
    assert gone(postgres_url)
    assert threading.active_count() <= threads


@pytest.mark.fault(68)
def test_a_plain_script_leaves_nothing_open_and_nothing_unawaited(postgres_url: str) -> None:
    program = textwrap.dedent(
        """
        import sys
        from wagoe_jobs import handler, running
        from wagoe_jobs.containers import JobsContainer

        @handler("add")
        def add(args):
            return args["a"] + args["b"]

        job_handlers = [add]
        jobs = {"provider": "db", "db": {"url": sys.argv[1]}}
        with running(JobsContainer(settings={"modules": [__name__], "jobs": jobs})) as up:
            client = up.client()
            print(client.wait(client.enqueue(add, {"a": 1, "b": 2}), timeout=20).result)
        """
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program, postgres_url],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
    assert gone(postgres_url)


@pytest.mark.fault(67, 68)
def test_a_lent_engine_is_left_open_with_no_connection_of_ours(postgres_url: str) -> None:
    engine = create_engine(postgres_url)
    container = system(
        module("shop", job_handlers=[add]), jobs={"provider": "db", "workers": {"poll_interval_ms": 10}}, engine=engine
    )
    with running(container) as up:
        job = up.client().wait(up.client().enqueue(add, {"a": 2, "b": 2}), timeout=20)
        assert job is not None
        assert job.result == 4
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    with engine.connect() as conn:
        assert conn.execute(text("select 1")).scalar() == 1
    engine.dispose()
    assert gone(postgres_url)


@pytest.mark.fault(67)
def test_an_asynchronous_resource_of_the_application_stops_after_its_users(postgres_url: str) -> None:
    events: list[str] = []

    async def lent() -> AsyncIterator[Engine]:
        engine = create_engine(postgres_url)
        await asyncio.sleep(0)
        events.append("+engine")
        yield engine
        events.append(f"-engine {engine.pool.checkedout()}")  # type: ignore[attr-defined]
        engine.dispose()

    def ticking() -> Iterator[str]:
        events.append("+clock")
        yield "clock"
        events.append("-clock")

    class App(containers.DeclarativeContainer):
        engine = providers.Resource(lent)
        clock = providers.Resource(ticking)
        jobs = providers.Container(
            JobsContainer,
            settings={"jobs": {"provider": "db"}},
            engine=engine,
            modules=providers.Object([named("shop", providers={"shelf": providers.Singleton(list, ref("clock"))})]),
        )

    async def host() -> None:
        app = App()
        async with running(app):
            client = await app.jobs.client()
            assert client.enqueue("nobody-knows") is not None
            assert set(events) == {"+engine", "+clock"}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(host())
        gc.collect()
    assert events.index("-engine 0") > events.index("+engine")
    assert set(events) == {"+engine", "+clock", "-clock", "-engine 0"}
    assert gone(postgres_url)


def test_a_script_is_told_that_a_resource_is_asynchronous() -> None:
    async def lent() -> AsyncIterator[int]:
        yield 1

    async def plain() -> int:
        return 1

    recorder = Recorder()
    for provides in (lent, plain):
        parts = {"first": recorder.resource("first"), "late": providers.Resource(provides)}
        with (
            pytest.raises(WiringError, match="late: is asynchronous: boot with `async with"),
            running(system(named("shop", providers=parts))),
        ):
            pytest.fail("booted")
    assert recorder.events == []


def test_a_cancelled_host_stops_everything_all_the_same() -> None:
    recorder = Recorder()
    container = system(named("shop", providers={"a": recorder.resource("a"), "b": recorder.resource("b", ref("a"))}))
    stopping = threading.Event()

    async def slow_to_stop() -> AsyncIterator[None]:
        yield
        stopping.set()
        await asyncio.sleep(0.1)
        recorder.events.append("-slow")

    container.set_provider("slow", providers.Resource(slow_to_stop))

    async def host() -> None:
        async with running(container):
            await asyncio.sleep(0)

    async def cancelling() -> None:
        task = asyncio.create_task(host())
        while not stopping.is_set():
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelling())
    assert recorder.events[:2] == ["+a", "+b"]
    assert sorted(recorder.events[2:]) == ["-a", "-b", "-slow"]
    assert not is_open(container.jobs_runtime)


def test_a_host_that_is_cancelled_while_it_starts_leaves_nothing_open() -> None:
    container: Any = system(jobs=MEMORY)
    made_by, opening, closed = container.jobs_runtime.provides, threading.Event(), threading.Event()

    def slow_to_open(*args: Any, **kwargs: Any) -> Iterator[Any]:
        opening.set()
        threading.Event().wait(0.2)
        with made_by(*args, **kwargs) as runtime:
            yield runtime
        closed.set()

    container.jobs_runtime.set_provides(slow_to_open)

    async def host() -> None:
        async with running(container):
            pytest.fail("booted")

    async def cancelling() -> None:
        task = asyncio.create_task(host())
        await asyncio.to_thread(opening.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelling())
    assert closed.is_set()
    assert not is_open(container.jobs_runtime)


def test_an_asynchronous_start_that_fails_stops_what_was_started() -> None:
    recorder = Recorder()

    async def broken(_: object) -> AsyncIterator[None]:
        raise RuntimeError("does not start")
        yield

    parts = {"a": recorder.resource("a"), "z": providers.Resource(broken, ref("a"))}
    container = system(named("shop", providers=parts), jobs=MEMORY)

    async def host() -> None:
        with pytest.raises(RuntimeError, match="does not start"):
            async with running(container):
                pytest.fail("booted")

    asyncio.run(host())
    assert recorder.events == ["+a", "-a"]
    assert not is_open(container.jobs_runtime)


def test_asynchronous_stops_that_fail_are_told_together() -> None:
    recorder = Recorder()

    async def grumpy(_: object) -> AsyncIterator[None]:
        yield
        raise RuntimeError("grumpy does not stop")

    parts = {"a": recorder.resource("a", fail_stop=True), "grumpy": providers.Resource(grumpy, ref("a"))}
    container = system(named("shop", providers=parts))

    async def host() -> None:
        async with running(container):
            pass

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(host())
    assert [str(error) for error in caught.value.exceptions] == ["grumpy does not stop", "a does not stop"]
    assert not is_open(container.jobs_runtime)
