"""A page of jobs asked for and told, whatever is listed: all jobs, or dead letters."""

import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

import typer

from wagoe_jobs.cli import documents
from wagoe_jobs.cli.doubts import doubts_of_search
from wagoe_jobs.cli.opened import Files, open_store
from wagoe_jobs.cli.output import Output, complain
from wagoe_jobs.core.job import Job
from wagoe_jobs.ports import JobFilter, Page, Runtime


class Listing(NamedTuple):
    """How jobs look to people, and what is said where there are none."""

    show: Callable[[Sequence[Job], Output], None]
    none: str


def list_page(
    ctx: typer.Context,
    listing: Listing,
    wanted: JobFilter,
    limit: int,
    cursor: str | None,
    target: str | None,
    settings: Files,
    as_json: bool,
) -> None:
    """Open the store and tell one page of it. What would print the next page is told on stderr."""
    with open_store(target, settings) as runtime:
        page = page_of(runtime, wanted, limit, cursor)
    _answer(ctx, page, listing, as_json)


def page_of(runtime: Runtime, wanted: JobFilter, limit: int, cursor: str | None) -> Page:
    """A page; where nothing is found because a name is unknown here, that is told on stderr."""
    page = runtime.store.search(wanted, limit=limit, cursor=cursor)
    for doubt in () if page.jobs else doubts_of_search(runtime, wanted):
        complain(doubt)
    return page


def on_its_own(ctx: typer.Context, *given: object) -> bool:
    """Whether a group was called without a command of its own. Raises BadParameter for options before that command."""
    if ctx.invoked_subcommand is None:
        return True
    if any(given):
        raise typer.BadParameter(f"write the options after {ctx.invoked_subcommand}")
    return False


def _answer(ctx: typer.Context, page: Page, listing: Listing, as_json: bool) -> None:
    output = Output(as_json=as_json)
    if as_json:
        output.document(documents.page_document(page))
        return
    if page.jobs:
        listing.show(page.jobs, output)
    else:
        output.line(listing.none)
    if page.cursor:
        complain(f"there are more: {_next_command(ctx, page.cursor)}")


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
