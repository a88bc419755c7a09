"""What dependency-injector does that must not bite: each trap, shown to exist where that is possible, and avoided.

Where the order of a set hides a fault, the case is repeated.
"""

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import pytest
from dependency_injector import containers, providers

from tests.wiring.parts import MEMORY, Recorder, module, nothing, system
from tests.wiring.test_modules import named
from tests.wiring.test_order import is_open, noting, stops
from wagoe_jobs import Jobs, Registry, Runtime, WiringError, WorkerPool, ref, running
from wagoe_jobs.containers import Input, JobsContainer
from wagoe_jobs.node import Opened, halt, init
from wagoe_jobs.ports import IdempotencyStore, JobStats, JobStore, LeasedJobQueue
from wagoe_jobs.settings import JobsSettings

REPEATS = 60


def projected(recorder: Recorder) -> containers.DynamicContainer:
    """A user of a resource through a projection, which the library's own shutdown does not see."""

    class Projected(containers.DeclarativeContainer):
        pool: Any = recorder.resource("pool")
        user = recorder.resource("user", pool.provided.title)

    return Projected()  # type: ignore[return-value]


def test_a_projection_in_between_breaks_the_librarys_own_order_and_not_ours() -> None:
    theirs = set()
    for _ in range(REPEATS):
        recorder = Recorder()
        container = projected(recorder)
        container.init_resources()
        container.shutdown_resources()
        theirs.add(tuple(stops(recorder.events)))
    assert ("pool", "user") in theirs, "the trap is gone: this test protects nothing any more"
    for _ in range(REPEATS):
        recorder = Recorder()
        with running(projected(recorder)):
            pass
        assert recorder.events == ["+pool", "+user", "-user", "-pool"]


@pytest.mark.parametrize("consumer", ["job_workers", "job_scheduler"])
def test_consumers_stop_before_the_runtime_even_if_the_library_does_the_stopping(consumer: str) -> None:
    for _ in range(REPEATS):
        recorder = Recorder()
        container: Any = system(module("shop", job_handlers={"a": nothing}))
        noting(container, recorder)
        init(container, consumer)
        container.shutdown_resources()
        assert stops(recorder.events) == [consumer, "jobs_runtime"]


def test_the_order_holds_under_every_seed_of_hashing() -> None:
    program = """
from tests.wiring.parts import Recorder, system, nothing
from tests.wiring.test_modules import named
from tests.wiring.test_order import noting, starts, stops
from wagoe_jobs import ref, running
recorder = Recorder()
parts = {f"r{i}": recorder.resource(f"r{i}", *([ref(f"r{i - 1}")] if i else [])) for i in range(8)}
container = system(named("shop", providers=parts, job_handlers={"a": nothing}))
noting(container, recorder)
with running(container):
    pass
assert stops(recorder.events) == list(reversed(starts(recorder.events)))
print(",".join(starts(recorder.events)))
"""
    orders = set()
    for seed in range(8):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        orders.add(done.stdout)
    assert len(orders) == 1


def test_a_failing_shutdown_does_not_abort_the_rest() -> None:
    recorder = Recorder()
    parts = {"a": recorder.resource("a", fail_stop=True), "b": recorder.resource("b"), "c": recorder.resource("c")}
    container = system(named("shop", providers=parts))
    with pytest.raises(ExceptionGroup), running(container):
        pass
    assert sorted(stops(recorder.events)) == ["a", "b", "c"]
    assert not is_open(container.jobs_runtime)


def test_the_provider_is_chosen_inside_one_resource() -> None:
    container: Any = system()
    kinds = [type(provider) for provider in container.traverse()]
    assert providers.Selector not in kinds
    assert kinds.count(Opened) == 1


def test_a_program_loads_the_adapter_of_its_own_provider_alone() -> None:
    program = """
import sys
from wagoe_jobs.containers import JobsContainer
from wagoe_jobs import running
with running(JobsContainer(settings={"jobs": {}})) as up:
    up.client().enqueue("x")
loaded = [name for name in sys.modules if name.split(".")[0] in ("sqlalchemy", "redis", "psycopg", "croniter")]
assert not loaded, loaded
assert "wagoe_jobs.adapters.memory" in sys.modules
assert "wagoe_jobs.adapters.sql" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_setting_called_provider_survives_a_configuration_provider() -> None:
    class App(containers.DeclarativeContainer):
        config = providers.Configuration()
        jobs = providers.Container(JobsContainer, settings=config)

    app = App()
    app.config.from_dict({"jobs": {"provider": "in-memory", "workers": {"count": 3}}})
    jobs: JobsSettings = app.jobs.jobs()
    assert (jobs.provider, jobs.workers.count) == ("memory", 3)


def test_many_threads_open_one_runtime_and_build_one_of_each() -> None:
    for _ in range(10):
        opened: list[int] = []
        container: Any = system(module("shop", job_handlers={"a": nothing}))
        made_by = container.jobs_runtime.provides

        def slowly(*args: Any, made_by: Any = made_by, opened: list[int] = opened, **kwargs: Any) -> Iterator[Any]:
            opened.append(1)
            threading.Event().wait(0.01)
            with made_by(*args, **kwargs) as runtime:
                yield runtime

        container.jobs_runtime.set_provides(slowly)
        found: set[tuple[int, ...]] = set()
        gate = threading.Barrier(8)

        def look(container: Any = container, found: set[tuple[int, ...]] = found, gate: Any = gate) -> None:
            gate.wait(10)
            parts = (container.job_queue(), container.job_registry(), container.client(), container.assembly())
            found.add(tuple(map(id, parts)))

        threads = [threading.Thread(target=look) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert (len(opened), len(found)) == (1, 1)
        halt(container)


def test_importing_reads_no_environment() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import wagoe_jobs.containers, wagoe_jobs.node, wagoe_jobs.settings, wagoe_jobs.client"],
        env={"WAGOE_JOBS_NO_SUCH_SETTING": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_what_was_stopped_does_not_open_by_being_touched() -> None:
    container: Any = system()
    with running(container):
        pass
    for key in ("jobs_runtime", "job_queue", "job_store", "job_stats", "idempotency_store", "client", "job_workers"):
        with pytest.raises(WiringError, match="stopped, and is not opened again by being used"):
            container.providers[key]()
    assert not is_open(container.jobs_runtime)
    assert init(container, "job_queue") == ["jobs_runtime"]
    assert container.job_queue().size("default") == 0
    container.shutdown_resources()
    with pytest.raises(WiringError, match="jobs_runtime: was stopped"):
        container.job_queue()


def test_a_resource_that_did_not_start_may_be_tried_again() -> None:
    recorder, broken = Recorder(), [True]

    def moody() -> Iterator[str]:
        if broken[0]:
            raise RuntimeError("not yet")
        yield "up"

    container = system(named("shop", providers={"moody": providers.Resource(moody), "a": recorder.resource("a")}))
    with pytest.raises(RuntimeError, match="not yet"), running(container):
        pytest.fail("booted")
    broken[0] = False
    with running(container) as up:
        assert up.providers["moody"]() == "up"


def test_an_input_that_was_not_passed_counts_as_defined() -> None:
    assert not providers.Dependency(default=None).is_defined, "the trap is gone"
    assert Input().is_defined
    container: Any = system()
    container.check_dependencies()
    assert container.engine() is None


def test_a_dangling_name_is_refused_and_never_handed_on_as_text() -> None:
    container: Any = containers.DynamicContainer()
    container.from_schema({"container": {"x": {"provider": "Factory", "provides": "builtins.list", "args": ["y"]}}})
    assert container.x.args == ("y",), "the trap is gone"
    ours = named("shop", providers={"x": providers.Factory(list, ref("y"))})
    with pytest.raises(WiringError, match=r"y: needed by shop\.shop, but nobody provides it"):
        system(ours).assembly()


def test_embedding_copies_providers_and_leaves_module_objects_alone() -> None:
    shop = named("shop", job_handlers={"a": nothing})

    class App(containers.DeclarativeContainer):
        jobs = providers.Container(JobsContainer, settings={"jobs": MEMORY}, modules=providers.Object([shop]))

    one, other = App(), App()
    with running(one), running(other):
        assert one.jobs.assembly().modules[0].source is shop
        assert one.jobs.jobs_runtime() is not other.jobs.jobs_runtime()
        assert one.jobs.job_registry() is not other.jobs.job_registry()
        one.jobs.client().enqueue("x", queue="mine")
        assert other.jobs.job_queue().list_queues() == []


def test_a_reference_survives_being_copied() -> None:
    class App(containers.DeclarativeContainer):
        shop: Any = providers.Singleton(list, ref("till"))
        jobs = providers.Container(
            JobsContainer,
            settings={"jobs": MEMORY},
            modules=providers.Object([named("shop", providers={"till": providers.Object((1,))})]),
        )

    copied = App()
    copy: Any = copied.shop.args[0]
    assert copy.key == "till"


def test_singletons_may_be_reset_between_two_runs() -> None:
    shop = named("shop", providers={"till": providers.Singleton(list, ref("pen"))}, job_handlers={"a": nothing})
    container: Any = system(shop, named("tools", providers={"pen": providers.Object((1,))}))
    for _ in range(3):
        with running(container) as up:
            assert up.till() == [1]
            assert up.job_registry().job_types() == ["a"]
        container.reset_singletons()


def test_queue_store_and_stats_are_parts_of_the_one_runtime() -> None:
    with running(system()) as up:
        runtime = up.jobs_runtime()
        assert up.job_queue() is runtime.queue
        assert up.job_store() is runtime.store
        assert up.job_stats() is runtime.stats
        assert up.idempotency_store() is runtime.idempotency
        for key in ("job_scheduler", "job_tenant_runner", "job_dead_letter_retention"):
            part = up.providers[key]()
            assert not part
            assert part.capability


def test_every_key_is_typed_for_checkers() -> None:
    with running(system()) as up:
        assert_type(up, JobsContainer)
        assert_type(up.jobs(), JobsSettings)
        assert_type(up.jobs_runtime(), Runtime)
        assert_type(up.job_queue(), LeasedJobQueue)
        assert_type(up.job_store(), JobStore)
        assert_type(up.job_stats(), JobStats)
        assert_type(up.idempotency_store(), IdempotencyStore | None)
        assert_type(up.job_registry(), Registry)
        assert_type(up.job_workers(), WorkerPool)
        assert_type(up.client(), Jobs)


def test_a_type_registered_after_boot_is_run() -> None:
    with running(system(module("shop", job_handlers={"a": nothing}))) as up:
        up.job_registry().register("late", lambda args: "ran")
        job = up.client().wait(up.client().enqueue("late"), timeout=10)
        assert job is not None
        assert job.result == "ran"


def test_nothing_is_kept_alive_by_a_container_that_is_gone() -> None:
    container: Any = system(module("shop", job_handlers={"a": nothing}))
    with running(container) as up:
        seen = weakref.ref(up.job_queue())
    del container, up
    gc.collect()
    assert seen() is None
