"""Boot in dependency order, stop in exact reverse, whatever fails; and the parts of a system by name."""

import itertools
import random
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from dependency_injector import containers, providers
from sqlalchemy import Engine, create_engine, text

from tests.wiring.parts import MEMORY, Recorder, module, nothing, system
from tests.wiring.test_modules import named
from wagoe_jobs import JobsDisabled, WiringError, handler, ref, running
from wagoe_jobs.containers import JobsContainer
from wagoe_jobs.node import halt, init, restart


def stops(events: list[str]) -> list[str]:
    return [event[1:] for event in events if event[0] == "-"]


def starts(events: list[str]) -> list[str]:
    return [event[1:] for event in events if event[0] == "+"]


def is_open(resource: Any) -> bool:
    return bool(resource.initialized)


def lent_engine(recorder: Recorder, path: Any, fail_stop: bool = False) -> "providers.Resource[Any]":
    """The application's own engine, as a resource that notes when it is disposed of."""

    def opened() -> Iterator[Any]:
        engine = create_engine(f"sqlite:///{path}")
        recorder.events.append("+engine")
        yield engine
        recorder.events.append(f"-engine ({engine.pool.checkedout()} connections out)")  # type: ignore[attr-defined]
        engine.dispose()
        if fail_stop:
            raise RuntimeError("engine does not stop")

    return providers.Resource(opened)


def noting(container: JobsContainer, recorder: Recorder) -> None:
    """Let the container's own resources note their starts and stops too."""
    for name in ("jobs_runtime", "job_scheduler", "job_workers"):
        provider: Any = container.providers[name]

        def opened(*args: Any, made_by: Any = provider.provides, name: str = name, **kwargs: Any) -> Iterator[Any]:
            made = made_by(*args, **kwargs)
            with made if hasattr(made, "__enter__") else nullcontext(made) as made:
                recorder.events.append(f"+{name}")
                yield made
            recorder.events.append(f"-{name}")

        provider.set_provides(opened)


@pytest.mark.fault(67)
@pytest.mark.parametrize("seed", range(60))
def test_what_consumes_starts_last_and_everything_stops_in_exact_reverse(seed: int, tmp_path: Any) -> None:
    chance, recorder = random.Random(seed), Recorder()
    chain: list[Any] = []
    for index in range(6):
        needs = [ref(f"r{other}") for other in range(index) if chance.random() < 0.5]
        chain.append((f"r{index}", recorder.resource(f"r{index}", *needs)))
    chance.shuffle(chain)
    shop = named("shop", providers=dict(chain), job_handlers={"a": nothing})
    container = system(shop, engine=lent_engine(recorder, tmp_path / "jobs.sqlite"), jobs={**MEMORY, "provider": "db"})
    noting(container, recorder)
    with running(container):
        begun = starts(recorder.events)
    assert begun[-2:] == ["job_scheduler", "job_workers"]
    assert begun.index("engine") < begun.index("jobs_runtime")
    ended = stops(recorder.events)
    assert [each.partition(" ")[0] for each in ended] == list(reversed(begun))
    assert "engine (0 connections out)" in ended


@pytest.mark.fault(67)
def test_a_running_handler_ends_before_the_engine_that_it_uses_is_disposed_of(tmp_path: Any) -> None:
    recorder, entered, leave = Recorder(), threading.Event(), threading.Event()

    class App(containers.DeclarativeContainer):
        engine = lent_engine(recorder, tmp_path / "jobs.sqlite")
        jobs = providers.Container(
            JobsContainer,
            settings={"jobs": {"provider": "db", "workers": {"poll_interval_ms": 10}}},
            engine=engine,
            modules=providers.Object(
                [named("shop", job_handlers={"slow": providers.Factory(lambda e: Slow(e), ref("engine"))})]
            ),
        )

    class Slow:
        def __init__(self, engine: Engine) -> None:
            self.engine = engine

        def __call__(self, args: object) -> object:
            entered.set()
            assert leave.wait(20)
            with self.engine.connect() as conn:
                answer = conn.execute(text("select 41 + 1")).scalar()
            recorder.events.append("handler ended")
            return answer

    app = App()
    with running(app):
        id = app.jobs.client().enqueue("slow")
        assert entered.wait(20)
        threading.Timer(0.2, leave.set).start()
    assert recorder.events == ["+engine", "handler ended", "-engine (0 connections out)"]
    with running(app):
        job = app.jobs.client().get(id)
        assert (job.status, job.result) == ("completed", 42)


@pytest.mark.parametrize("failing", range(4))
def test_a_failing_start_stops_what_was_started_in_reverse(failing: int) -> None:
    recorder = Recorder()
    parts = {
        f"r{index}": recorder.resource(
            f"r{index}", *([ref(f"r{index - 1}")] if index else []), fail_start=index == failing
        )
        for index in range(4)
    }
    container = system(named("shop", providers=parts))
    with pytest.raises(RuntimeError, match=f"r{failing} does not start"), running(container):
        pytest.fail("booted")
    assert starts(recorder.events) == [f"r{index}" for index in range(failing)]
    assert stops(recorder.events) == list(reversed(starts(recorder.events)))
    assert not any(threading.main_thread() is not each and each.is_alive() for each in threading.enumerate())


def test_stops_that_fail_do_not_keep_the_rest_open() -> None:
    recorder = Recorder()
    parts = {
        f"r{index}": recorder.resource(
            f"r{index}", *([ref(f"r{index - 1}")] if index else []), fail_stop=index in (1, 3)
        )
        for index in range(5)
    }
    container = system(named("shop", providers=parts))
    noting(container, recorder)
    with pytest.raises(ExceptionGroup) as caught, running(container):
        pass
    assert [str(error) for error in caught.value.exceptions] == ["r3 does not stop", "r1 does not stop"]
    assert stops(recorder.events) == list(reversed(starts(recorder.events)))
    assert "jobs_runtime" in stops(recorder.events)


def test_an_interrupt_while_stopping_still_closes_the_rest() -> None:
    recorder = Recorder()

    def interrupted() -> Iterator[None]:
        yield
        raise KeyboardInterrupt

    parts = {"first": recorder.resource("first"), "second": providers.Resource(interrupted)}
    with pytest.raises(BaseExceptionGroup) as caught, running(system(named("shop", providers=parts))):
        pass
    assert isinstance(caught.value.exceptions[0], KeyboardInterrupt)
    assert recorder.events == ["+first", "-first"]


def test_a_start_that_fails_and_a_stop_that_fails_tell_both() -> None:
    recorder = Recorder()
    parts = {
        "a": recorder.resource("a", fail_stop=True),
        "b": recorder.resource("b", ref("a"), fail_start=True),
    }
    with pytest.raises(RuntimeError, match="b does not start") as caught, running(system(named("s", providers=parts))):
        pytest.fail("booted")
    assert any("a does not stop" in note for note in caught.value.__notes__)


def test_the_error_of_the_block_is_raised_when_the_stop_succeeds() -> None:
    with pytest.raises(ZeroDivisionError), running(system()):
        raise ZeroDivisionError


def test_only_what_is_named_boots_with_what_it_needs() -> None:
    recorder = Recorder()
    parts = {
        "a": recorder.resource("a"),
        "b": recorder.resource("b", ref("a")),
        "c": recorder.resource("c"),
    }
    container = system(named("shop", providers=parts))
    noting(container, recorder)
    with running(container, only=["b"]):
        assert starts(recorder.events) == ["a", "b"]
    with running(container, only=("client",)) as up:
        assert up.client().enqueue("x")
        assert starts(recorder.events) == ["a", "b", "jobs_runtime"]
    assert stops(recorder.events) == ["b", "a", "jobs_runtime"]
    with (
        pytest.raises(WiringError, match="job_workrs: there is no such provider; did you mean 'job_workers'"),
        running(container, only=["job_workrs"]),
    ):
        pytest.fail("booted")


def test_a_block_stops_only_what_it_started() -> None:
    recorder = Recorder()
    container = system(named("shop", providers={"a": recorder.resource("a"), "b": recorder.resource("b")}))
    with running(container, only=["a"]):
        with running(container):
            assert recorder.events == ["+a", "+b"]
        assert recorder.events == ["+a", "+b", "-b"]
    assert recorder.events == ["+a", "+b", "-b", "-a"]


def test_a_part_can_be_halted_and_booted_again_with_all_that_needs_it() -> None:
    recorder = Recorder()
    parts = {"a": recorder.resource("a"), "b": recorder.resource("b", ref("a")), "c": recorder.resource("c")}
    container = system(named("shop", providers=parts))
    assert init(container, "b") == ["a", "b"]
    assert init(container, "b") == []
    assert set(init(container)) >= {"c", "jobs_runtime", "job_workers"}
    runtime, client = container.jobs_runtime(), container.client()
    assert halt(container, "a") == ["b", "a"]
    assert init(container, "b") == ["a", "b"]
    assert container.client() is client
    assert restart(container, "jobs_runtime") == ["jobs_runtime", "job_scheduler", "job_workers"]
    assert container.jobs_runtime() is not runtime
    assert container.client() is not client
    assert container.client().runtime is container.jobs_runtime()
    assert set(halt(container)) == {"a", "b", "c", "jobs_runtime", "job_scheduler", "job_workers"}
    assert halt(container) == []
    assert restart(container) == []


def test_a_container_may_run_again_after_its_end() -> None:
    @handler("a")
    def do_a(args: object) -> str:
        return "done"

    container = system(module("shop", job_handlers=[do_a]))
    for _ in range(3):
        with running(container) as up:
            job = up.client().wait(up.client().enqueue(do_a), timeout=10)
            assert job is not None
            assert job.result == "done"


def test_a_web_node_has_an_empty_pool_and_no_thread_and_still_enqueues() -> None:
    before = threading.active_count()
    container = system(jobs={"provider": "memory", "workers": {"count": 0}})
    with running(container) as up:
        pool = up.job_workers()
        assert pool is not None
        assert (pool.count, pool.status().lanes) == (0, [])
        assert threading.active_count() == before
        id = up.client().enqueue("x")
        job = up.client().get(id)
        assert job is not None
        assert job.status == "pending"


def test_a_class_in_place_of_a_container_is_told() -> None:
    with pytest.raises(WiringError, match="call its class"), running(JobsContainer):
        pytest.fail("booted")


def test_an_application_without_jobs_boots_all_the_same() -> None:
    recorder = Recorder()

    class App(containers.DeclarativeContainer):
        engine = recorder.resource("engine")
        jobs = providers.Container(JobsContainer, settings={}, engine=engine)

    app = App()
    with running(app):
        assert recorder.events == ["+engine"]
        with pytest.raises(JobsDisabled):
            app.jobs.job_queue()
    assert recorder.events == ["+engine", "-engine"]


def test_a_part_of_an_application_is_named_by_its_path() -> None:
    class App(containers.DeclarativeContainer):
        jobs = providers.Container(JobsContainer, settings={"jobs": {}})

    app = App()
    with running(app, only=["jobs.job_queue"]):
        assert is_open(app.jobs.jobs_runtime)
        assert not is_open(app.jobs.job_workers)
    inner: Any = app.jobs
    with running(inner, only=["job_queue"]):
        assert is_open(app.jobs.jobs_runtime)


def test_the_order_does_not_hang_on_the_order_of_declaration() -> None:
    for order in itertools.permutations(["a", "b", "c"]):
        recorder = Recorder()
        made = {
            "a": recorder.resource("a"),
            "b": recorder.resource("b", ref("a")),
            "c": recorder.resource("c", ref("b")),
        }
        with running(system(named("shop", providers={name: made[name] for name in order}), jobs=None)):
            pass
        assert recorder.events == ["+a", "+b", "+c", "-c", "-b", "-a"]
