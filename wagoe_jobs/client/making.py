"""How a job is made ready for the store: defaults of the handler's mark, tenant, and every check that needs no store.

What is wrong is an InvalidJob with the path of the value. Durations may be given as seconds; instants must be
aware.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from wagoe_jobs.clock import Clock, Ids
from wagoe_jobs.core.codec import encode_job
from wagoe_jobs.core.job import Job, Priority, checked_instant, make_job
from wagoe_jobs.core.outcome import LONGEST_DELAY
from wagoe_jobs.core.told import told
from wagoe_jobs.errors import InvalidJob, PayloadTooLarge
from wagoe_jobs.registry import JobSpec, Registry, refusal_of, spec_of
from wagoe_jobs.tenants import with_tenant

T = TypeVar("T")
What = str | Callable[..., object] | Job
"""What is enqueued: a job type, a function marked with `@handler`, or a Job made by `new_job`."""

DEFAULT_TTL = timedelta(hours=24)
_ids = Ids()  # shared, so that the ids of one process ascend; it holds nothing that would have to be closed


def new_job(
    type: str,
    args: object = None,
    *,
    queue: str = "default",
    priority: Priority | str = Priority.NORMAL,
    max_retries: int = 3,
    execute_at: datetime | None = None,
    metadata: Mapping[str, object] | None = None,
    id: UUID | None = None,
    now: datetime | None = None,
) -> Job:
    """A pending job with an id of its own (UUIDv7), stored nowhere yet. Raises InvalidJob."""
    return make_job(
        type,
        args,
        id=_ids.new() if id is None else id,
        now=Clock().now() if now is None else now,
        queue=queue,
        priority=priority,
        max_retries=max_retries,
        execute_at=execute_at,
        metadata=metadata,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to enqueue; None leaves it to the handler's mark, and then to the default."""

    queue: str | None = None
    priority: Priority | str | None = None
    max_retries: int | None = None
    at: datetime | None = None
    tenant: str | None = None
    metadata: Mapping[str, object] | None = None
    id: UUID | None = None

    def given(self) -> list[str]:
        return [name for name in self.__slots__ if getattr(self, name) is not None]


class Preparation:
    """Makes jobs of what is enqueued; with a registry, from what the types' handlers are marked with."""

    def __init__(self, registry: Registry | None) -> None:
        self._registry = registry

    def job(self, what: What, args: object, options: Options) -> Job:
        """The job, checked but for the encoding of its args; raises InvalidJob and TenantMismatch."""
        if isinstance(what, Job):
            return self._made_already(what, args, options)
        spec = self._spec(what)
        _check_args(spec, args)
        return new_job(
            spec.type,
            args,
            queue=_first(options.queue, spec.queue, "default"),
            priority=_first(options.priority, Priority.NORMAL),
            max_retries=_first(options.max_retries, spec.max_retries, 3),
            execute_at=None if options.at is None else checked_instant("at", options.at),
            metadata=with_tenant(options.metadata, options.tenant),
            id=options.id,
        )

    def _made_already(self, job: Job, args: object, options: Options) -> Job:
        said = options.given() + ([] if args is None else ["args"])
        if said:
            raise InvalidJob(said[0], "is part of a Job already: give it to new_job")
        _check_args(self._spec(job.type), job.args)
        return make_job(  # again, since a Job can be built unchecked
            job.type,
            job.args,
            id=job.id,
            now=job.created_at,
            queue=job.queue,
            priority=job.priority,
            max_retries=job.max_retries,
            execute_at=job.execute_at,
            metadata=with_tenant(job.metadata, None),
        )

    def _spec(self, what: str | Callable[..., object]) -> JobSpec:
        known = self._registry.handler_for(what) if self._registry is not None and isinstance(what, str) else None
        return spec_of(what if known is None else known)


def checked_many(jobs: object) -> Iterator[Any]:
    """The entries of `enqueue_many`. Raises InvalidJob for what has none, or only looks as if it had some."""
    if isinstance(jobs, (str, bytes, Mapping)) or not isinstance(jobs, Iterable):
        raise InvalidJob("jobs", f"must be an iterable of pairs of type and args, types or Jobs, not {told(jobs)}")
    return iter(jobs)


def as_pair(entry: What | tuple[What, object]) -> tuple[What, object]:
    """An entry of `enqueue_many` as what it enqueues and its args."""
    if not isinstance(entry, (tuple, list)):
        return entry, None
    if len(entry) != 2:
        raise InvalidJob("", "must be a pair of type and args, a type or a Job")
    return entry[0], entry[1]


@contextmanager
def inside(index: int) -> Iterator[None]:
    """Let the path of what is refused begin with the entry."""
    try:
        yield
    except PayloadTooLarge as error:
        raise PayloadTooLarge(f"[{index}].{error.path}", error.size, error.limit) from None
    except InvalidJob as error:
        raise InvalidJob(f"[{index}]" + (f".{error.path}" if error.path else ""), error.reason) from None


def locate(jobs: Sequence[Job]) -> None:
    """Raises the InvalidJob of the first that cannot be encoded, with the entry in its path."""
    for index, job in enumerate(jobs):
        with inside(index):
            encode_job(job)


def checked_delay(delay: timedelta | float | None, at: datetime | None) -> timedelta | None:
    if delay is None:
        return None
    if at is not None:
        raise InvalidJob("delay", "cannot be given together with at")
    return checked_span("delay", delay)


def checked_ttl(ttl: timedelta | float | None) -> timedelta:
    span = DEFAULT_TTL if ttl is None else checked_span("ttl", ttl)
    if not span:
        raise InvalidJob("ttl", "must be longer than nothing")
    return span


def checked_span(path: str, span: object) -> timedelta:
    """A duration from a timedelta or a number of seconds; raises InvalidJob unless it is 0 to 100 years."""
    if isinstance(span, (int, float)) and not isinstance(span, bool) and 0 <= span <= LONGEST_DELAY.total_seconds():
        return timedelta(seconds=span)
    if isinstance(span, timedelta) and timedelta(0) <= span <= LONGEST_DELAY:
        return span
    raise InvalidJob(path, f"must be a timedelta or seconds, from 0 to 100 years, not {_spelled(span)}")


def _spelled(span: object) -> str:
    """`-1 day, 0:00:00` for a timedelta, whose repr is Python's word and no duration."""
    if not isinstance(span, timedelta):
        return told(span)
    return f"-{-span}" if span < timedelta(0) else str(span)


def _check_args(spec: JobSpec, args: object) -> None:
    refused = None if spec.args_model is None else refusal_of(spec.args_model, {} if args is None else args)
    if refused is not None:
        raise refused


def _first(*choices: T | None) -> T:
    return next(choice for choice in choices if choice is not None)
