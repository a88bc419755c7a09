"""Adds up a finished run from three sources that must agree: the store, the web node's report, and the files made."""

import json
from collections import Counter
from collections.abc import Iterator

from examples.postcards.places import Places, near
from examples.postcards.progress import Show
from wagoe_jobs.core.job import ErrorInfo, Job
from wagoe_jobs.ports import Runtime

EXAMPLES = 5
INDENT = " " * 14


def add_up(runtime: Runtime, places: Places, show: Show, *, restarts: int, seconds: float) -> bool:
    """Print what became of every row; False when a job was lost or a card is missing."""
    report = json.loads(places.report.read_text())
    stats = runtime.stats.job_stats()
    runs = Counter(line.split()[0] for line in places.runs.read_text().splitlines())
    dead = list(_dead_letters(runtime))
    cards = sum(1 for _ in places.cards.glob("*.txt"))
    cancelled = stats.processed - stats.succeeded - stats.failed

    show.say("")
    show.say(f"rows        {report['orders']:6,} orders, {report['duplicates']:,} of them duplicates")
    _say_skipped(report, show)
    show.say(f"printed     {stats.succeeded:6,} cards, one file each")
    show.say(f"run again   {sum(times > 1 for times in runs.values()):6,} orders, after a failure or a killed node")
    show.say(f"cancelled   {cancelled:6,}")
    show.say(f"dead        {stats.failed:6,} kept as dead letters, to look at and to retry")
    for job in dead[:EXAMPLES]:
        show.say(f"{INDENT}{job.id}")
        show.say(f"{INDENT}  {_reason(job.error)}")
    again = f"{restarts} restart{'' if restarts == 1 else 's'} of a node"
    show.say(f"took        {seconds:6.1f} s, {sum(runs.values()):,} runs, {again}")
    show.say(f"results in  {near(places.root)}")
    show.say(f"{INDENT}{', '.join(_results(places))}")
    return _agree(show, expected=report["distinct"], ended=stats.processed, cards=cards, printed=stats.succeeded)


def _agree(show: Show, *, expected: int, ended: int, cards: int, printed: int) -> bool:
    if ended != expected:
        show.say(f"WRONG: {expected:,} orders, but {ended:,} jobs have ended")
    if cards != printed:
        show.say(f"WRONG: {printed:,} jobs completed, but there are {cards:,} cards")
    return ended == expected and cards == printed


def _dead_letters(runtime: Runtime) -> Iterator[Job]:
    cursor = None
    while True:
        page = runtime.store.failed_jobs(cursor=cursor)
        yield from page.jobs
        cursor = page.cursor
        if cursor is None:
            return


def _say_skipped(report: dict[str, list[tuple[int, str]]], show: Show) -> None:
    show.say(f"skipped     {len(report['skipped']):6,} not readable as an order")
    for line, reason in report["skipped"][:EXAMPLES]:
        show.say(f"{INDENT}line {line} {reason}")


def _results(places: Places) -> list[str]:
    """What stays in the folder; SQLite's own two files are gone when the run ends."""
    return sorted(path.name for path in places.root.iterdir() if not path.name.endswith(("-shm", "-wal")))


def _reason(error: ErrorInfo | None) -> str:
    return "for no reason" if error is None else f"{error.type}: {error.message}"[:120]
