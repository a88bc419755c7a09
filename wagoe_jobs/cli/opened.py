"""Opens what a command works on: the container that -a names, or the store that --settings files describe.

From files alone no module is imported, so that jobs can be looked at where the application is not installed.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import NamedTuple

import typer
from sqlalchemy import Engine, create_engine

from wagoe_jobs.adapters.sql import connections_needed, open_engine
from wagoe_jobs.cli.output import complain
from wagoe_jobs.cli.target import container_at, jobs_part
from wagoe_jobs.client import Jobs
from wagoe_jobs.errors import JobsDisabled, SettingsError
from wagoe_jobs.node import running
from wagoe_jobs.ports import Runtime
from wagoe_jobs.registry import Registry
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import JobsSettings, load_settings

Files = Sequence[str] | None
_MEMORY = "memory is inside the process that runs the jobs"


@contextmanager
def open_store(target: str | None, files: Files, *, to_change: bool = False) -> Iterator[Runtime]:
    """The runtime, to look at jobs or to change some; nothing that runs jobs starts. Raises what opening raises.

    The memory provider can only be looked at, with a warning: what is changed in it is gone with this process.
    """
    check = _shared if to_change else _seen_alone
    if not chosen(target, files):
        with open_runtime(check(jobs_in(files))) as runtime:
            yield runtime
        return
    part = jobs_part(container_at(target or ""))
    check(part.jobs())
    with running(part, only=("jobs_runtime",)):
        yield part.jobs_runtime()


class Enqueuing(NamedTuple):
    """The client, the settings, and the types that have a handler here: None where no module was imported."""

    jobs: Jobs
    settings: JobsSettings
    handled: Sequence[str] | None


@contextmanager
def open_client(target: str | None, files: Files) -> Iterator[Enqueuing]:
    """The client; with -a it knows the handlers, and so their defaults and models. Raises what opening raises."""
    if not chosen(target, files):
        jobs = _shared(jobs_in(files))
        with open_runtime(jobs) as runtime:
            yield Enqueuing(Jobs(runtime), jobs, None)
        return
    part = jobs_part(container_at(target or ""))
    jobs = _shared(part.jobs())
    with running(part, only=("client",)):
        yield Enqueuing(part.client(), jobs, part.job_registry().job_types())


@contextmanager
def open_registry(target: str | None, files: Files) -> Iterator[Registry]:
    """The handlers that -a's modules contribute, with whatever makes some of them open. Raises what opening raises."""
    if not chosen(target, files):
        raise typer.BadParameter("handlers are in the application: give -a, since --settings imports no module")
    part = jobs_part(container_at(target or ""))
    with running(part, only=("job_registry",)):
        yield part.job_registry()


@contextmanager
def open_database(
    target: str | None, files: Files, *, without_file: bool = False
) -> Iterator[tuple[JobsSettings, Engine]]:
    """The settings and the engine of the db provider: the application's, or one made from jobs.db.url.

    With `without_file`, SQLite is opened in memory: it tells of its SQL there too, and asked for a file it makes one.
    """
    if not chosen(target, files):
        jobs = jobs_in(files)
        with _engine_of(jobs, None, without_file) as engine:
            yield jobs, engine
        return
    part = jobs_part(container_at(target or ""))
    jobs = part.jobs()
    with running(part, only=("engine",)), _engine_of(jobs, part.engine(), without_file) as engine:
        yield jobs, engine


def settings_of(target: str | None, files: Files) -> tuple[JobsSettings, Sequence[str] | None]:
    """The jobs block and the types that have a handler; None where no module is imported, or a provider makes them.

    Opens nothing.
    """
    if not chosen(target, files):
        return jobs_in(files), None
    part = jobs_part(container_at(target or ""))
    jobs = part.jobs()
    return jobs, sorted(part.job_registry().job_types()) if not part.assembly().handler_providers else None


def jobs_in(files: Files) -> JobsSettings:
    """The jobs block of these files. Raises JobsDisabled without one."""
    jobs = load_settings(*files or ()).jobs
    if jobs is None:
        raise JobsDisabled("--settings")
    return jobs


def chosen(target: str | None, files: Files) -> bool:
    """Whether it is -a; neither and both are usage errors."""
    if target and files:
        raise typer.BadParameter("give -a or --settings, not both")
    if not target and not files:
        raise typer.BadParameter("say where the jobs are: -a package.module:container, or --settings FILE")
    return bool(target)


def _engine_of(jobs: JobsSettings, lent: object, without_file: bool) -> AbstractContextManager[Engine]:
    if isinstance(lent, Engine):
        return _closed(create_engine("sqlite://")) if without_file and lent.name == "sqlite" else nullcontext(lent)
    if jobs.provider != "db":
        raise SettingsError("jobs.provider", f"this needs provider = db, not {jobs.provider}")
    if jobs.db.url is None:
        raise SettingsError("jobs.db.url", "is needed here: no application lends its engine")
    url = jobs.db.url.get_secret_value()
    if without_file and url.startswith("sqlite:"):
        return _closed(create_engine("sqlite://"))
    needed = connections_needed(len(jobs.workers.polled))
    timeout = timedelta(milliseconds=jobs.db.timeout_ms)
    return _closed(open_engine(url, timeout=timeout, pool_size=max(10, needed)))


@contextmanager
def _closed(engine: Engine) -> Iterator[Engine]:
    try:
        yield engine
    finally:
        engine.dispose()


def _shared(jobs: JobsSettings) -> JobsSettings:
    if jobs.provider == "memory":
        raise SettingsError("jobs.provider", f"{_MEMORY}: nothing can be changed from here")
    return jobs


def _seen_alone(jobs: JobsSettings) -> JobsSettings:
    if jobs.provider == "memory":
        complain(f"jobs.provider: {_MEMORY}: this sees only itself, no job of another process")
    return jobs
