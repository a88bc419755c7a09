"""`wagoe-jobs jobs`: finding single jobs, and acting on those that are named."""

from collections.abc import Sequence
from typing import Annotated

import typer

from wagoe_jobs.cli import documents, shown
from wagoe_jobs.cli.arguments import job_filter
from wagoe_jobs.cli.endings import act_on
from wagoe_jobs.cli.exits import Exit
from wagoe_jobs.cli.found import holder_of, jobs_beginning
from wagoe_jobs.cli.many import cancel_each, retry_each
from wagoe_jobs.cli.opened import open_store
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
from wagoe_jobs.cli.pages import Listing, list_page, on_its_own
from wagoe_jobs.core.job import Job

jobs_app = typer.Typer(help="Look at jobs, retry and cancel them.", rich_markup_mode=None)
JOBS = Listing(shown.show_jobs, "there are no such jobs")


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
    if on_its_own(ctx, status, queue, cursor, target, settings, as_json):
        list_page(ctx, JOBS, job_filter(status=status, queue=queue), limit, cursor, target, settings, as_json)


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
    list_page(ctx, JOBS, wanted, limit, cursor, target, settings, as_json)


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
    act_on(ids, retry_each, target, settings, as_json)


@jobs_app.command("cancel")
def cancel(
    ids: IdsArgument, target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False
) -> None:
    """End jobs that wait, and ask the holders of running ones to stop. Exits 1 when one has ended or is unknown."""
    act_on(ids, cancel_each, target, settings, as_json)


def _complain_of(id: str, found: Sequence[Job]) -> None:
    if not found:
        complain(f"there is no job {id}")
        return
    complain(f"several jobs begin with {id}, as {', '.join(str(job.id) for job in found[:3])}: write more of it")
