"""What the terminal shows during a run: a bar where there is a terminal, else a line every two seconds."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from wagoe_jobs.core.clean import clean
from wagoe_jobs.ports import StatsTotals

LINE_SECONDS = 2.0


class Show:
    """The run's view; a context manager around the time when the bar is there."""

    def __init__(self, *, resumed: bool) -> None:
        self._console = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=self._console)
        self._bar = self._progress.add_task("jobs done", total=None)
        self._said = 0.0
        if resumed:
            self.say("resuming the run that was interrupted; --fresh begins anew")

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._progress.stop()

    def say(self, text: str) -> None:
        """Lines of text, in which nothing is obeyed."""
        for line in text.splitlines() or [""]:
            self._console.print(Text(clean(line)))

    def update(self, stats: StatsTotals, *, all_enqueued: bool) -> None:
        """The present counts; the total is known once everything is enqueued."""
        ready = sum(sum(queue.waiting.values()) for queue in stats.queues)
        scheduled = sum(queue.scheduled for queue in stats.queues)
        in_flight = sum(queue.in_flight for queue in stats.queues)
        total = stats.processed + ready + scheduled + in_flight
        self._progress.update(self._bar, completed=stats.processed, total=total if all_enqueued else None)
        if total and not self._console.is_terminal and time.monotonic() - self._said >= LINE_SECONDS:
            self._said = time.monotonic()
            self.say(f"{stats.processed:,} of {total:,} done, {in_flight} running, {scheduled} wait for a repeat")
