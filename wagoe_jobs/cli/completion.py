"""What a shell is offered while a command is typed. Nothing is opened for it and no application is imported."""

from collections.abc import Iterable, Sequence

import typer

from wagoe_jobs.core.job import PRIORITIES, Status
from wagoe_jobs.errors import JobsError
from wagoe_jobs.settings import load_settings


def complete_status(incomplete: str) -> Sequence[str]:
    return _beginning(incomplete, Status)


def complete_priority(incomplete: str) -> Sequence[str]:
    return _beginning(incomplete, PRIORITIES)


def complete_queue(ctx: typer.Context, incomplete: str) -> Sequence[str]:
    """The queues that the settings files on the line have polled; with -a none, since that imports the application."""
    files = ctx.params.get("settings")
    try:
        jobs = load_settings(*files).jobs if files else None
    except JobsError:  # told once the command runs; a shell that completes can show nothing of it
        return []
    return _beginning(incomplete, jobs.workers.polled if jobs else ())


def _beginning(incomplete: str, words: Iterable[str]) -> Sequence[str]:
    return [str(word) for word in words if word.startswith(incomplete)]
