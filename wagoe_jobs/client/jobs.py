"""What application code calls: enqueue a job, look at it, wait for it, cancel or retry it.

Whatever is wrong with a job is said here, before anything is stored, as InvalidJob with the path of the
value. Enqueuing the same id again stores nothing and says so. The methods that begin with `a` do the same
from async code: each runs in a thread of the event loop's own executor, under the caller's context. With an
AsyncConnection or AsyncSession as `tx`, enqueuing runs on that connection, and awaits it, instead.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TypedDict, Unpack
from uuid import UUID

from wagoe_jobs.client.making import (
    Options,
    Preparation,
    What,
    as_pair,
    checked_delay,
    checked_many,
    checked_ttl,
    inside,
    locate,
)
from wagoe_jobs.client.offloading import offload, stored
from wagoe_jobs.client.waiting import not_ended, pauses
from wagoe_jobs.core.enqueued import Enqueued
from wagoe_jobs.core.job import BULK_LIMIT, Job, Priority, Status, checked_instant, checked_name
from wagoe_jobs.core.told import told
from wagoe_jobs.errors import InvalidJob, NotATransaction
from wagoe_jobs.ports import Claimed, JobFilter, OnceJobQueue, Page, Runtime, TransactionalJobQueue, checked_runtime
from wagoe_jobs.registry import Registry


class ManyOptions(TypedDict, total=False):
    """The keywords of `enqueue_many`."""

    queue: str | None
    priority: Priority | str | None
    max_retries: int | None
    at: datetime | None
    delay: timedelta | float | None
    tenant: str | None
    metadata: Mapping[str, object] | None
    tx: object


class EnqueueOptions(ManyOptions, total=False):
    """The keywords of `enqueue`."""

    key: str | None
    ttl: timedelta | float | None
    id: UUID | None


class FindOptions(TypedDict, total=False):
    """The keywords of `find`."""

    status: Status | str | None
    type: str | None
    queue: str | None
    tenant: str | None
    since: datetime | None
    until: datetime | None
    limit: int
    cursor: str | None


class Jobs:
    """The client of one runtime. With a registry, types are enqueued with what their handlers are marked with."""

    def __init__(self, runtime: Runtime, registry: Registry | None = None) -> None:
        self.runtime = checked_runtime(runtime, "Jobs(runtime)")
        self._made = Preparation(registry)

    def enqueue(
        self,
        job: What,
        args: object = None,
        *,
        queue: str | None = None,
        priority: Priority | str | None = None,
        max_retries: int | None = None,
        at: datetime | None = None,
        delay: timedelta | float | None = None,
        key: str | None = None,
        ttl: timedelta | float | None = None,
        tenant: str | None = None,
        metadata: Mapping[str, object] | None = None,
        id: UUID | None = None,
        tx: object = None,
    ) -> Enqueued:
        """Store one job: ready, or due `at` an aware instant, or after `delay` (a timedelta or seconds).

        `key` stores one job per type and key until `ttl` (24 hours) has passed; a duplicate answers with the
        first one's id. `tx`, an SQLAlchemy Connection or Session (for `aenqueue` an asynchronous one too), makes
        the job part of that transaction.
        Raises InvalidJob, PayloadTooLarge, TenantMismatch, NotATransaction and then has stored nothing;
        after BackendUnavailable it may have: repeat it with the same `id`.
        """
        options = Options(
            queue=queue,
            priority=priority,
            max_retries=max_retries,
            at=at,
            tenant=tenant,
            metadata=metadata,
            id=id,
        )
        wait = checked_delay(delay, at)
        ready = self._made.job(job, args, options)
        if key is not None:
            return self._store_once(ready, key, checked_ttl(ttl), wait, tx)
        if ttl is not None:
            raise InvalidJob("ttl", "says how long a key is taken: it needs a key")
        return Enqueued(ready.id, duplicate=not self._store(ready, wait, tx))

    def enqueue_many(
        self,
        jobs: Iterable[What | tuple[What, object]],
        *,
        queue: str | None = None,
        priority: Priority | str | None = None,
        max_retries: int | None = None,
        at: datetime | None = None,
        delay: timedelta | float | None = None,
        tenant: str | None = None,
        metadata: Mapping[str, object] | None = None,
        tx: object = None,
    ) -> Sequence[Enqueued]:
        """All of at most 10,000 jobs or none, in order: pairs of type and args, to which the options apply, or Jobs.

        Raises what `enqueue` raises; the path begins with the entry, as `[3].args["to"]`.
        """
        options = Options(
            queue=queue, priority=priority, max_retries=max_retries, at=at, tenant=tenant, metadata=metadata
        )
        wait = checked_delay(delay, at)
        ready: list[Job] = []
        for index, entry in enumerate(checked_many(jobs)):
            if index == BULK_LIMIT:
                raise InvalidJob("jobs", f"are more than {BULK_LIMIT:,}: enqueue them in several calls")
            with inside(index):
                ready.append(self._made.job(*as_pair(entry), options))
        try:
            stored = self._store_many(ready, wait, tx) if ready else ()
        except InvalidJob:
            locate(ready)
            raise
        return [Enqueued(job.id, duplicate=not new) for job, new in zip(ready, stored, strict=True)]

    def get(self, id: UUID | str) -> Job | None:
        """The job wherever it is, None when unknown."""
        known = _id(id)
        return None if known is None else self.runtime.store.find(known)

    def find(
        self,
        *,
        status: Status | str | None = None,
        type: str | None = None,
        queue: str | None = None,
        tenant: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """Jobs with all of these, newest first; `since` <= created_at < `until`; `cursor` is the last page's."""
        wanted = JobFilter(
            status=None if status is None else _checked_status(status),
            type=None if type is None else checked_name("type", type),
            queue=None if queue is None else checked_name("queue", queue),
            tenant=None if tenant is None else checked_name("tenant", tenant),
            since=None if since is None else checked_instant("since", since),
            until=None if until is None else checked_instant("until", until),
        )
        return self.runtime.store.search(wanted, limit=limit, cursor=cursor)

    def cancel(self, id: UUID | str) -> bool:
        """End a waiting job, or ask a running one to stop; False when it is unknown or has ended."""
        known = _id(id)
        return known is not None and self.runtime.queue.cancel(known)

    def retry(self, id: UUID | str) -> bool:
        """Give a dead letter another chance; False when it is none."""
        known = _id(id)
        return known is not None and self.runtime.store.retry(known)

    def wait(self, id: UUID | str, timeout: timedelta | float = 30.0) -> Job | None:
        """The job once it has ended, None when unknown. Raises TimeoutError after `timeout` (or seconds).

        Looks again and again, ever less often, at most four times a second in the end.
        """
        job: Job | None = None
        for pause in pauses(timeout):
            job = self.get(id)
            if job is None or job.status.terminal:
                return job
            time.sleep(pause)
        raise not_ended(job, id, timeout)

    async def aenqueue(self, job: What, args: object = None, **options: Unpack[EnqueueOptions]) -> Enqueued:
        """`enqueue` from async code."""

        def store(tx: object) -> Enqueued:
            options["tx"] = tx
            return self.enqueue(job, args, **options)

        return await stored(store, options.get("tx"))

    async def aenqueue_many(
        self, jobs: Iterable[What | tuple[What, object]], **options: Unpack[ManyOptions]
    ) -> Sequence[Enqueued]:
        """`enqueue_many` from async code."""
        many = list(islice(checked_many(jobs), BULK_LIMIT + 1))  # here: a generator may belong to the loop's thread

        def store(tx: object) -> Sequence[Enqueued]:
            options["tx"] = tx
            return self.enqueue_many(many, **options)

        return await stored(store, options.get("tx"))

    async def aget(self, id: UUID | str) -> Job | None:
        return await offload(self.get, id)

    async def afind(self, **wanted: Unpack[FindOptions]) -> Page:
        return await offload(self.find, **wanted)

    async def acancel(self, id: UUID | str) -> bool:
        return await offload(self.cancel, id)

    async def aretry(self, id: UUID | str) -> bool:
        return await offload(self.retry, id)

    async def await_(self, id: UUID | str, timeout: timedelta | float = 30.0) -> Job | None:
        """`wait` from async code; it holds a thread only while it looks."""
        job: Job | None = None
        for pause in pauses(timeout):
            job = await self.aget(id)
            if job is None or job.status.terminal:
                return job
            await asyncio.sleep(pause)
        raise not_ended(job, id, timeout)

    def _store(self, job: Job, delay: timedelta | None, tx: object) -> bool:
        queue = self.runtime.queue
        if tx is not None:
            return _transactional(self.runtime, tx).enqueue_in_tx(tx, [job], delay=delay)[0]
        return queue.enqueue(job) if delay is None else queue.schedule(job, delay)

    def _store_many(self, jobs: Sequence[Job], delay: timedelta | None, tx: object) -> Sequence[bool]:
        if tx is not None:
            return _transactional(self.runtime, tx).enqueue_in_tx(tx, jobs, delay=delay)
        return self.runtime.queue.enqueue_many(jobs, delay=delay)

    def _store_once(self, job: Job, key: str, ttl: timedelta, delay: timedelta | None, tx: object) -> Enqueued:
        queue = self.runtime.queue
        if tx is not None:
            _transactional(self.runtime, tx)
        if not isinstance(queue, OnceJobQueue):
            raise InvalidJob("key", f"the {self.runtime.provider} provider has no idempotency keys")
        answer = queue.enqueue_once(job.type, checked_name("key", key), job, ttl, delay=delay, tx=tx)
        return Enqueued(job.id) if isinstance(answer, Claimed) else Enqueued(UUID(answer.value), duplicate=True)


def _transactional(runtime: Runtime, tx: object) -> TransactionalJobQueue:
    if hasattr(type(tx), "run_sync"):
        raise NotATransaction(f"{type(tx).__name__}: is asynchronous: await jobs.aenqueue(..., tx=tx)")
    if isinstance(runtime.queue, TransactionalJobQueue):
        return runtime.queue
    raise NotATransaction(
        f"the {runtime.provider} provider cannot take part in a transaction: enqueue after its commit, or use "
        "provider = db; transactional_queue(queue) tells beforehand"
    )


def _id(id: UUID | str) -> UUID | None:
    """The id, None for text that is none: such a job is unknown."""
    if isinstance(id, UUID):
        return UUID(int=id.int)
    try:
        return UUID(id)
    except (ValueError, AttributeError, TypeError):
        return None


def _checked_status(status: Status | str) -> Status:
    try:
        return Status(status if isinstance(status, str) else "")
    except ValueError:
        raise InvalidJob("status", f"must be one of {', '.join(Status)}, not {told(status)}") from None
