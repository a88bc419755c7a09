"""`wagoe-jobs jobs`: finding single jobs, and acting on those that are named."""

import shlex
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from wagoe_jobs.cli import documents, shown
from wagoe_jobs.cli.arguments import job_filter, read_ids
from wagoe_jobs.cli.doubts import doubts_of_search
from wagoe_jobs.cli.exits import Exit
from wagoe_jobs.cli.found import holder_of, jobs_beginning
from wagoe_jobs.cli.many import Told, cancel_each, retry_each
from wagoe_jobs.cli.opened import Files, open_store
from wagoe_jobs.cli.options import (
    AppOption,
    CursorOption,
    FilesOption,
    IdsArgument,
    JsonOption,
    LimitOption,
    QueueOption,
    SinceOption,
    StatusOption,
    TenantOption,
    TypeOption,
    UntilOption,
)
from wagoe_jobs.cli.output import Output, complain
from wagoe_jobs.cli.progress import Ended
from wagoe_jobs.core.job import Job
from wagoe_jobs.ports import JobFilter, Page, Runtime

jobs_app = typer.Typer(help="Look at jobs, retry and cancel them.", rich_markup_mode=None)
Show = Callable[[Sequence[Job], Output], None]


@jobs_app.callback(invoke_without_command=True)
def jobs(
    ctx: typer.Context,
    status: StatusOption = None,
    queue: QueueOption = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    target: AppOption = None,
    settings: FilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at jobs, retry and cancel them. On its own it is `jobs list`."""
    if ctx.invoked_subcommand is None:
        wanted = job_filter(status=status, queue=queue)
        _list(ctx, wanted, limit, cursor, target, settings, as_json)
    elif status or queue or cursor or target or settings or as_json:
        raise typer.BadParameter(f"write the options after {ctx.invoked_subcommand}")


@jobs_app.command("list")
def list_jobs(
    ctx: typer.Context,
    status: StatusOption = None,
    type: TypeOption = None,
    queue: QueueOption = None,
    tenant: TenantOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    target: AppOption = None,
    settings: FilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs wherever they are, newest first. What would print the next page is told on stderr."""
    wanted = job_filter(status=status, type=type, queue=queue, tenant=tenant, since=since, until=until)
    _list(ctx, wanted, limit, cursor, target, settings, as_json)


@jobs_app.command("show")
def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="The job's id, or how it begins.")],
    target: AppOption = None,
    settings: FilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show all of one job, wherever it is. Exits 1 when no id begins so, or several do."""
    output = Output(as_json=as_json)
    with open_store(target, settings) as runtime:
        found = jobs_beginning(runtime.store, id)
        holder = holder_of(runtime, found[0]) if len(found) == 1 else None
    if len(found) != 1:
        if as_json:
            output.document({"job": None})
        _complain_of(id, found)
        raise typer.Exit(Exit.NO)
    if as_json:
        output.document({"job": documents.job_document(found[0])})
        return
    shown.show_job(found[0], output)
    if holder is not None:
        shown.show_holder(holder, output)


@jobs_app.command("retry")
def retry(
    ids: IdsArgument, target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False
) -> None:
    """Give dead letters another chance, their repeats whole again. Exits 1 when one of the ids is no dead letter."""
    wanted = read_ids(ids)
    with open_store(target, settings, to_change=True) as runtime:
        told, ended = retry_each(runtime, wanted)
    answer_each(told, ended, len(wanted), as_json)


@jobs_app.command("cancel")
def cancel(
    ids: IdsArgument, target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False
) -> None:
    """End jobs that wait, and ask the holders of running ones to stop. Exits 1 when one has ended or is unknown."""
    wanted = read_ids(ids)
    with open_store(target, settings, to_change=True) as runtime:
        told, ended = cancel_each(runtime, wanted)
    answer_each(told, ended, len(wanted), as_json)


def page_of(runtime: Runtime, wanted: JobFilter, limit: int, cursor: str | None) -> Page:
    """A page; where nothing is found because a name is unknown here, that is told on stderr."""
    page = runtime.store.search(wanted, limit=limit, cursor=cursor)
    for doubt in () if page.jobs else doubts_of_search(runtime, wanted):
        complain(doubt)
    return page


def answer_page(ctx: typer.Context, page: Page, show: Show, none: str, as_json: bool) -> None:
    output = Output(as_json=as_json)
    if as_json:
        output.document(documents.page_document(page))
        return
    if page.jobs:
        show(page.jobs, output)
    else:
        output.line(none)
    if page.cursor:
        complain(f"there are more: {_next_command(ctx, page.cursor)}")


def answer_each(told: Sequence[Told], ended: Ended, wanted: int, as_json: bool) -> None:
    """Tell what became of each id, and exit as the worst of it asks for."""
    output = Output(as_json=as_json)
    if as_json:
        output.document(documents.told_document(told, complete=len(told) == wanted))
    else:
        for one in told:
            output.line(f"{one.id}  {one.state}")
    finish(ended, f"{len(told):,} of {wanted:,} were seen to")
    if not all(one.done for one in told):
        raise typer.Exit(Exit.NO)


def finish(ended: Ended, so_far: str) -> None:
    """Nothing when it came to its end; else how far it came, and the error or the exit of an interruption."""
    if ended.stopped or ended.error:
        complain(f"stopped before the end: {so_far}; the same command goes on from there")
    if ended.error:
        raise ended.error
    if ended.stopped:
        raise typer.Exit(Exit.INTERRUPTED)


def _list(
    ctx: typer.Context,
    wanted: JobFilter,
    limit: int,
    cursor: str | None,
    target: str | None,
    settings: Files,
    as_json: bool,
) -> None:
    with open_store(target, settings) as runtime:
        page = page_of(runtime, wanted, limit, cursor)
    answer_page(ctx, page, shown.show_jobs, "there are no such jobs", as_json)


def _complain_of(id: str, found: Sequence[Job]) -> None:
    if not found:
        complain(f"there is no job {id}")
        return
    complain(f"several jobs begin with {id}, as {', '.join(str(job.id) for job in found[:3])}: write more of it")


def _next_command(ctx: typer.Context, cursor: str) -> str:
    """The command that was given, with the cursor of the next page."""
    kept: list[str] = []
    given = iter(ctx.obj)
    for argument in given:
        if argument == "--cursor":
            next(given, None)
        elif not argument.startswith("--cursor="):
            kept.append(argument)
    return shlex.join(["wagoe-jobs", *kept, "--cursor", cursor])
