"""Long work that is watched and may be stopped: a bar on stderr where it is a terminal, and the first signal noted."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from wagoe_jobs.cli.signals import signals
from wagoe_jobs.errors import JobsError

T = TypeVar("T")


class Ended(NamedTuple):
    """How far it came; neither `stopped` nor `error` when to the end."""

    stopped: bool = False
    error: JobsError | None = None


def work_through(items: Iterable[T], act: Callable[[T], None], *, what: str, total: int | None) -> Ended:
    """Act on each item until the end, TERM, INT, or an error of the library; a second INT ends the process at once.

    `total` is how many there may be, None when nobody knows.
    """
    with signals() as received, _bar(what, total) as advance:
        try:
            for item in items:
                if received.stopping:
                    return Ended(stopped=True)
                act(item)
                advance()
        except JobsError as error:
            return Ended(error=error)
    return Ended()


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
