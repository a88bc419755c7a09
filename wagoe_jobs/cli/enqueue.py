"""`wagoe-jobs enqueue`: one job stored, and a doubt told where nobody may ever run it."""

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import typer

from wagoe_jobs.cli.arguments import read_id, read_instant, read_json, read_wait
from wagoe_jobs.cli.doubts import doubts_of_job
from wagoe_jobs.cli.opened import Enqueuing, open_client
from wagoe_jobs.cli.options import AppOption, FilesOption, JsonOption, PriorityOption
from wagoe_jobs.cli.output import Output, complain
from wagoe_jobs.core.enqueued import Enqueued
from wagoe_jobs.errors import JobsError

TypeArgument = Annotated[str, typer.Argument(metavar="TYPE", help="The job type.")]
ArgsArgument = Annotated[
    object,
    typer.Argument(metavar="ARGS_JSON", parser=read_json, help="JSON, mostly an object; - reads it from stdin."),
]
QueueOption = Annotated[str | None, typer.Option(help="Default: the handler's, or default.")]
RetriesOption = Annotated[int | None, typer.Option(help="Repeats after the first run; default 3.")]
DelayOption = Annotated[
    timedelta | None, typer.Option(metavar="DURATION", parser=read_wait, help="Run it later, as 90, 5m or 2h.")
]
AtOption = Annotated[
    datetime | None, typer.Option(metavar="INSTANT", parser=read_instant, help="As 2026-05-01T09:00:00+02:00.")
]
IdOption = Annotated[
    UUID | None, typer.Option(metavar="UUID", parser=read_id, help="A UUID; one that exists is a duplicate.")
]
KeyOption = Annotated[str | None, typer.Option(help="One job for each key until it expires.")]
TtlOption = Annotated[
    timedelta | None,
    typer.Option(metavar="DURATION", parser=read_wait, help="How long the key is taken; default 24h."),
]


def enqueue(
    type: TypeArgument,
    args: ArgsArgument = "{}",
    queue: QueueOption = None,
    priority: PriorityOption = None,
    max_retries: RetriesOption = None,
    delay: DelayOption = None,
    at: AtOption = None,
    id: IdOption = None,
    key: KeyOption = None,
    ttl: TtlOption = None,
    target: AppOption = None,
    settings: FilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Enqueue one job and print its id. A duplicate is told so, with the first job's id, and exits 0.

    A queue that nobody is known to poll, or a type that is almost that of a handler, is warned of; the job is stored
    all the same, since another node may know it.
    """
    with open_client(target, settings) as opened:
        made = opened.jobs.enqueue(
            type,
            args,
            queue=queue,
            priority=priority,
            max_retries=max_retries,
            delay=delay,
            at=at,
            id=id,
            key=key,
            ttl=ttl,
        )
        _answer(made, as_json)
        if not made.duplicate:
            _doubt(made, opened)


def _answer(made: Enqueued, as_json: bool) -> None:
    output = Output(as_json=as_json)
    if as_json:
        output.document({"id": str(made), "duplicate": made.duplicate})
    else:
        output.line(f"{made}{' (a duplicate: nothing was added)' if made.duplicate else ''}")


def _doubt(made: Enqueued, opened: Enqueuing) -> None:
    runtime = opened.jobs.runtime
    try:
        job = runtime.store.find(made)
        for doubt in () if job is None else doubts_of_job(runtime, job, opened.settings, opened.handled):
            complain(doubt)
    except JobsError as error:
        complain(f"the job is stored; whether anybody runs it is not known: {error}")
