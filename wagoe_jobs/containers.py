"""The ready-made container: jobs as components of a dependency-injection system.

    container = JobsContainer(settings=load_settings("jobs.toml"))             # on its own
    jobs = providers.Container(JobsContainer, settings=config, engine=engine)  # inside an application's

One runtime is opened, once; the queue, the store and the stats are projections of it. An embedded container
is copied with the application's: wrap plain objects that cannot be, as `modules=providers.Object([shop])`.

A mapping in `settings` is what code says, so it is stronger than the environment; `load_settings` of files is
weaker.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dependency_injector import containers, providers

from wagoe_jobs.client import Jobs
from wagoe_jobs.errors import JobsDisabled, WiringError
from wagoe_jobs.modules import Assembling, Assembly, Needing, assemble, refuse_circles, registry_of
from wagoe_jobs.node import Consuming, Opened
from wagoe_jobs.pool import WorkerPool
from wagoe_jobs.ports import IdempotencyStore, JobStats, JobStore, LeasedJobQueue, Runtime
from wagoe_jobs.registry import Registry
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import JobsSettings, Settings, load_settings

if TYPE_CHECKING:
    from redis import Redis as Client
    from redis import RedisCluster
    from sqlalchemy import Engine

UNUSED_INPUTS = {
    "tenant_service": "the tenant runner",
    "metrics": "outcome reports",
    "error_reporting": "outcome reports",
    "on_outcome": "outcome hooks",
}
"""Inputs of capabilities that are not part of this version yet: passing one is refused rather than ignored."""


@dataclass(frozen=True, slots=True)
class Absent:
    """Stands where a component of a later version will be: it is false, and does nothing."""

    capability: str

    def __bool__(self) -> bool:
        return False


class Input(providers.Dependency[Any]):
    """Something that the application may pass in; None when it does not."""

    def __init__(self, *_: object) -> None:
        super().__init__(default=providers.Object(None))  # a default of plain None would count as undefined

    @property
    def given(self) -> bool:
        return bool(self.overridden)


def _read(given: "Settings | JobsSettings | Mapping[str, object] | None") -> Settings:
    match given:
        case Settings():
            return given
        case JobsSettings():
            return Settings(jobs=given)
        case None | Mapping():
            return load_settings(given=given)
        case _:
            raise WiringError(f"settings: must be Settings or a mapping, not {type(given).__name__}")


def _assemble(container: containers.DynamicContainer, settings: Settings, modules: Sequence[object] | None) -> Assembly:
    """Load the modules and let their components join the container; opens nothing."""
    for name, capability in UNUSED_INPUTS.items():
        if container.providers[name]() is not None:
            raise WiringError(
                f"{name}: {capability}: not part of this version yet, so it would not be used: do not pass it"
            )
    assembling = container.providers["assembly"]
    earlier = assembling.added if isinstance(assembling, Assembling) else frozenset()
    system = {name: provider for name, provider in container.providers.items() if name not in earlier}
    assembly = assemble(settings, modules or (), system, _finder(container, jobs=settings.jobs is not None))
    registry = container.providers["job_registry"]
    if isinstance(registry, Needing):
        registry.needs = assembly.handler_providers
    refuse_circles({**system, **assembly.providers})
    for provider in system.values():
        if isinstance(provider, Opened):
            provider.disabled = settings.jobs is None
    for name, provider in assembly.providers.items():
        container.set_provider(name, provider)
    if isinstance(assembling, Assembling):
        assembling.added = frozenset(assembly.providers)
    return assembly


def _finder(container: containers.DynamicContainer, *, jobs: bool) -> "Callable[[str], providers.Provider[Any] | None]":
    """Looks a name up in the container, then in those that it is embedded in."""

    def find(name: str) -> "providers.Provider[Any] | None":
        if not jobs and name in JOB_KEYS:
            raise WiringError(f'{name}: a module needs it, but jobs are not enabled: ask `"jobs" in enabled` first')
        here: Any = container
        while here is not None:
            found = here.providers.get(name)
            if found is not None and (not isinstance(found, Input) or found.given):
                return found  # type: ignore[no-any-return]
            here = getattr(here.parent, "parent", None)
        return None

    return find


def _jobs(settings: Settings) -> JobsSettings:
    if settings.jobs is None:
        raise JobsDisabled("jobs")
    return settings.jobs


def _jobs_runtime(
    jobs: JobsSettings, engine: "Engine | None", redis_client: "Client | RedisCluster | None"
) -> Iterator[Runtime]:
    with open_runtime(jobs, engine, redis_client) as runtime:
        yield runtime


def _job_workers(jobs: JobsSettings, runtime: Runtime, registry: Registry) -> Iterator[WorkerPool]:
    workers = jobs.workers
    with WorkerPool(
        runtime,
        registry,
        workers.polled,
        workers.count,
        backoff=workers.backoff,
        patience=workers.patience,
        poll_interval=workers.poll_interval,
        max_poll_interval=workers.max_poll_interval,
        scheduled_interval=workers.scheduled_interval,
        reclaim_interval=workers.reclaim_interval,
        shutdown_timeout=workers.shutdown_timeout,
        virtual_threads=workers.virtual_threads,
    ) as pool:
        yield pool


def _registry(jobs: JobsSettings, assembly: Assembly) -> Registry:
    return registry_of(assembly.job_handlers)


def _job_scheduler(jobs: JobsSettings, runtime: Runtime) -> Absent:
    return Absent("recurring jobs")


def _absent(capability: str, jobs: JobsSettings) -> Absent:
    return Absent(capability)


class JobsContainer(containers.DeclarativeContainer):
    """Inputs first, all optional; then a provider for every key, which raises JobsDisabled without a jobs table."""

    __self__ = providers.Self()

    settings = Input()
    modules = Input()
    engine = Input()
    redis_client = Input()
    tenant_service = Input()
    metrics = Input()
    error_reporting = Input()
    on_outcome = Input()

    system_settings: providers.Provider[Settings] = providers.ThreadSafeSingleton(_read, settings)
    assembly: providers.Provider[Assembly] = Assembling(
        _assemble, container=__self__, settings=system_settings, modules=modules
    )

    jobs: providers.Provider[JobsSettings] = providers.Callable(_jobs, assembly.provided.settings)
    jobs_runtime: providers.Provider[Runtime] = Opened(
        _jobs_runtime, jobs=jobs, engine=engine, redis_client=redis_client
    )
    job_queue: providers.Provider[LeasedJobQueue] = jobs_runtime.provided.queue
    job_store: providers.Provider[JobStore] = jobs_runtime.provided.store
    job_stats: providers.Provider[JobStats] = jobs_runtime.provided.stats
    idempotency_store: providers.Provider[IdempotencyStore | None] = jobs_runtime.provided.idempotency
    job_registry: providers.Provider[Registry] = Needing(_registry, jobs=jobs, assembly=assembly)
    job_tenant_runner: providers.Provider[Absent] = providers.Callable(_absent, "the tenant runner", jobs)
    job_dead_letter_retention: providers.Provider[Absent] = providers.Callable(_absent, "retention", jobs)
    # The runtime itself, not a projection of it: the order of stopping follows direct arguments.
    job_scheduler: providers.Provider[Absent] = Consuming(_job_scheduler, jobs=jobs, runtime=jobs_runtime)
    job_workers: providers.Provider[WorkerPool] = Consuming(
        _job_workers, jobs=jobs, runtime=jobs_runtime, registry=job_registry
    )
    client: providers.Provider[Jobs] = providers.ThreadSafeSingleton(Jobs, runtime=jobs_runtime, registry=job_registry)


JOB_KEYS = frozenset(
    {
        "client",
        "idempotency_store",
        "job_dead_letter_retention",
        "job_queue",
        "job_registry",
        "job_scheduler",
        "job_stats",
        "job_store",
        "job_tenant_runner",
        "job_workers",
        "jobs",
        "jobs_runtime",
    }
)
