"""The whole at a glance: `status`, `queues list`, `workers` and `types`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta

import typer

from wagoe_jobs.cli import documents, shown
from wagoe_jobs.cli.doubts import SAMPLE
from wagoe_jobs.cli.exits import Exit
from wagoe_jobs.cli.found import workers_of
from wagoe_jobs.cli.opened import Files, open_registry, open_store
from wagoe_jobs.cli.options import AppOption, FilesOption, JsonOption
from wagoe_jobs.cli.output import Output, complain
from wagoe_jobs.cli.pages import on_its_own
from wagoe_jobs.cli.shown import Polled, counted
from wagoe_jobs.errors import JobsError
from wagoe_jobs.ports import PresentWorker, QueueStats, Runtime
from wagoe_jobs.registry import Handler, Registry, nearest

STALE_AFTER = timedelta(seconds=30)
"""A worker that is not heard of for so long is marked; its jobs are given to others by their leases, not by this."""
_NO_LIST = "this store keeps no list of workers: nothing is known of who polls"

queues_app = typer.Typer(help="Look at queues.", rich_markup_mode=None)


def status(target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False) -> None:
    """Count what waits, runs and has ended, for each queue."""
    with open_store(target, settings) as runtime:
        stats, polled = runtime.stats.job_stats(), _polled(runtime)
    output = Output(as_json=as_json)
    if as_json:
        output.document(documents.stats_document(stats))
        return
    shown.show_stats(stats, [Polled(queue, _pollers(queue.queue, polled)) for queue in stats.queues], output)


@queues_app.callback(invoke_without_command=True)
def queues(
    ctx: typer.Context, target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False
) -> None:
    """Look at queues. On its own it is `queues list`."""
    if on_its_own(ctx, target, settings, as_json):
        list_queues(target, settings, as_json)


@queues_app.command("list")
def list_queues(target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False) -> None:
    """List queues: what waits by priority, what runs, and whether a worker polls it. One with work and none is told."""
    with open_store(target, settings) as runtime:
        polled = _polled(runtime)
        seen = {queue.queue: queue for queue in runtime.stats.job_stats().queues}
        unused = [runtime.stats.queue_stats(name) for name in sorted((polled or {}).keys() - seen)]
    queues = [Polled(queue, _pollers(queue.queue, polled)) for queue in (*seen.values(), *unused)]
    output = Output(as_json=as_json)
    if as_json:
        output.document({"queues": [_queue_document(queue) for queue in queues]})
    elif queues:
        shown.show_queues(queues, output)
    else:
        output.line("there are no queues: no job was ever enqueued, and no worker polls")
    _warn(queues, polled is None)


def workers(target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False) -> None:
    """List the workers that tell of themselves, and the jobs that they run. One not heard of is marked stale."""
    with open_store(target, settings) as runtime:
        if runtime.presence is None:
            complain(_NO_LIST)
            raise typer.Exit(Exit.NO)
        found = workers_of(runtime)
    stale = [is_stale(worker) for worker in found]
    output = Output(as_json=as_json)
    if as_json:
        document = [documents.worker_document(worker, stale=old) for worker, old in zip(found, stale, strict=True)]
        output.document({"workers": document})
    elif found:
        shown.show_workers(found, stale, output)
    else:
        output.line("no worker tells of itself: none runs, or none has begun to")


def types(target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False) -> None:
    """List the job types that the application has handlers for, and compare them with the newest jobs.

    They are listed also where the store does not answer, which then exits 3.
    """
    with open_registry(target, settings) as registry:
        handlers = _handlers(registry)
    jobs, error = _newest(target, settings)
    output = Output(as_json=as_json)
    if as_json:
        output.document(_types_document(handlers, jobs))
    elif handlers:
        shown.show_types(handlers, jobs, output)
    else:
        output.line("no module contributes a handler")
    _compare([handler.type for handler in handlers], jobs or {})
    if error is not None:
        raise error


def is_stale(worker: PresentWorker) -> bool:
    return worker.age > STALE_AFTER


def _polled(runtime: Runtime) -> Mapping[str, int] | None:
    """How many workers poll each queue; None where the store keeps no list of them."""
    if runtime.presence is None:
        return None
    return Counter(queue for one in workers_of(runtime) if not is_stale(one) for queue in one.card.queues)


def _pollers(queue: str, polled: Mapping[str, int] | None) -> int | None:
    return None if polled is None else polled.get(queue, 0)


def _queue_document(queue: Polled) -> Mapping[str, object]:
    return {**documents.queue_document(queue.stats), "workers": queue.workers}


def _warn(queues: Sequence[Polled], unlisted: bool) -> None:
    if unlisted:
        complain(_NO_LIST)
    for queue in queues:
        if queue.workers == 0 and (work := _work(queue.stats)):
            complain(f"nobody polls the queue {queue.stats.queue!r}, which holds {counted(work, 'job')}")


def _work(stats: QueueStats) -> int:
    return sum(stats.waiting.values()) + stats.scheduled + stats.in_flight


def _handlers(registry: Registry) -> Sequence[Handler]:
    found = (registry.handler_for(type) for type in registry.job_types())
    return [handler for handler in found if handler is not None]


def _newest(target: str | None, settings: Files) -> tuple[Mapping[str, int] | None, JobsError | None]:
    """How many of the newest jobs are of each type, or why nobody can tell."""
    try:
        with open_store(target, settings) as runtime:
            return Counter(job.type for job in runtime.store.search(limit=SAMPLE).jobs), None
    except JobsError as error:
        return None, error


def _types_document(handlers: Sequence[Handler], jobs: Mapping[str, int] | None) -> Mapping[str, object]:
    known = {handler.type for handler in handlers}
    return {
        "types": [
            {**documents.handler_document(handler), "jobs": None if jobs is None else jobs.get(handler.type, 0)}
            for handler in handlers
        ],
        "without_handler": None if jobs is None else {type: n for type, n in sorted(jobs.items()) if type not in known},
        "newest_jobs": None if jobs is None else sum(jobs.values()),
    }


def _compare(handled: Sequence[str], jobs: Mapping[str, int]) -> None:
    for type, count in sorted(jobs.items()):
        if type not in handled:
            complain(f"no handler here for {type!r}, the type of {counted(count, 'job')}{nearest(type, handled)}")
