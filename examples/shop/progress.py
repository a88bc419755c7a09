"""What the terminal shows during a run: two bars where there is a terminal, else a line every two seconds."""

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
    """The run's view; a context manager around the time when the bars are there."""

    def __init__(self) -> None:
        self._console = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
        columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=self._console)
        self._lines = self._progress.add_task("lines sent", total=None)
        self._jobs = self._progress.add_task("jobs ended", total=None)
        self._said = time.monotonic()
        self.counts = "nothing is known of the jobs yet"

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

    def update(self, stats: StatsTotals, *, sent: int, lines: int) -> None:
        """The present counts. The number of jobs is known once all lines are sent."""
        ready = sum(sum(queue.waiting.values()) for queue in stats.queues)
        scheduled = sum(queue.scheduled for queue in stats.queues)
        in_flight = sum(queue.in_flight for queue in stats.queues)
        total = stats.processed + sum(queue.to_do for queue in stats.queues)
        self._progress.update(self._lines, completed=sent, total=lines)
        self._progress.update(self._jobs, completed=stats.processed, total=total if sent == lines else None)
        self.counts = (
            f"{sent:,} of {lines:,} lines sent; jobs: {stats.processed:,} ended, {ready:,} wait, "
            f"{in_flight} run, {scheduled} wait for a repeat"
        )
        if not self._console.is_terminal and time.monotonic() - self._said >= LINE_SECONDS:
            self._said = time.monotonic()
            self.say(self.counts)
