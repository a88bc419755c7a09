"""`wagoe-jobs failed`: the dead letters, listed and redriven."""

import sys
from typing import Annotated

import typer

from wagoe_jobs.cli import shown
from wagoe_jobs.cli.arguments import job_filter
from wagoe_jobs.cli.endings import act_on, finish
from wagoe_jobs.cli.exits import Exit
from wagoe_jobs.cli.many import Redriven, redrive, retry_each
from wagoe_jobs.cli.opened import Files, open_store
from wagoe_jobs.cli.options import (
    AppOption,
    CursorOption,
    FilesOption,
    JsonOption,
    LimitOption,
    QueueOption,
    SinceOption,
    TenantOption,
    TypeOption,
    UntilOption,
)
from wagoe_jobs.cli.output import Output, complain
from wagoe_jobs.cli.pages import Listing, list_page, on_its_own, page_of
from wagoe_jobs.cli.progress import Ended
from wagoe_jobs.cli.shown import counted
from wagoe_jobs.core.job import Status
from wagoe_jobs.ports import JobFilter, JobStats

failed_app = typer.Typer(help="List dead letters and retry them.", rich_markup_mode=None)
DEAD_LETTERS = Listing(shown.show_dead_letters, "there are no dead letters")


@failed_app.callback(invoke_without_command=True)
def failed(
    ctx: typer.Context,
    queue: QueueOption = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    target: AppOption = None,
    settings: FilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """List dead letters, or retry them. On its own it is `failed list`."""
    if on_its_own(ctx, queue, cursor, target, settings, as_json):
        wanted = job_filter(status=Status.FAILED, queue=queue)
        list_page(ctx, DEAD_LETTERS, wanted, limit, cursor, target, settings, as_json)


@failed_app.command("list")
def list_failed(
    ctx: typer.Context,
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
    """List dead letters, newest job first, with what went wrong."""
    wanted = job_filter(status=Status.FAILED, type=type, queue=queue, tenant=tenant, since=since, until=until)
    list_page(ctx, DEAD_LETTERS, wanted, limit, cursor, target, settings, as_json)


@failed_app.command("retry")
def retry_failed(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="The ids of dead letters.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All dead letters that the options below ask for.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before --all.")] = False,
    type: TypeOption = None,
    queue: QueueOption = None,
    tenant: TenantOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    target: AppOption = None,
    settings: FilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give dead letters another chance, their repeats whole again: those that are named, or --all.

    With --all each that is there now is retried once, also if it fails again meanwhile. A signal stops it after the
    job that it is at; the same command goes on from there.
    """
    wanted = job_filter(status=Status.FAILED, type=type, queue=queue, tenant=tenant, since=since, until=until)
    if every == bool(ids):
        raise typer.BadParameter("name the dead letters by their ids, or give --all")
    if every:
        _retry_all(wanted, yes, target, settings, as_json)
        return
    if wanted != JobFilter(status=Status.FAILED):
        raise typer.BadParameter("--type, --queue, --tenant, --since and --until go with --all, not with ids")
    act_on(ids or (), retry_each, target, settings, as_json)


def _retry_all(wanted: JobFilter, yes: bool, target: str | None, settings: Files, as_json: bool) -> None:
    if not yes and not _is_terminal():
        raise typer.BadParameter("nobody can be asked here: give --yes to retry all of them")
    with open_store(target, settings, to_change=True) as runtime:
        any_there = bool(page_of(runtime, wanted, 1, None).jobs)
        total = _count(runtime.stats, wanted)
        if any_there and not yes:
            _ask("the dead letters that match" if total is None else counted(total, "dead letter"))
        done, ended = redrive(runtime.store, wanted, total=total)
    _answer(done, ended, as_json)


def _answer(done: Redriven, ended: Ended, as_json: bool) -> None:
    output = Output(as_json=as_json)
    complete = not ended.stopped and ended.error is None
    if as_json:
        output.document({"retried": done.retried, "skipped": done.skipped, "complete": complete})
    else:
        skipped = f"; {counted(done.skipped, 'other')} had been retried or deleted meanwhile" if done.skipped else ""
        output.line(f"retried {counted(done.retried, 'dead letter')}{skipped}")
    finish(ended, f"{counted(done.retried, 'dead letter')} retried")


def _count(stats: JobStats, wanted: JobFilter) -> int | None:
    """How many dead letters there are, None where only looking at each would tell."""
    if wanted == JobFilter(status=Status.FAILED):
        return stats.job_stats().failed
    if wanted == JobFilter(status=Status.FAILED, queue=wanted.queue):
        return stats.queue_stats(wanted.queue or "").failed
    return None


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _ask(what: str) -> None:
    """Raises Exit unless the answer is yes."""
    if not typer.confirm(f"Retry {what}?", err=True):
        complain("nothing was changed")
        raise typer.Exit(Exit.NO)
