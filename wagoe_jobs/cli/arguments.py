"""What is typed on the command line, read into values; whatever cannot be read is a usage error, which exits 2."""

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import NoReturn
from uuid import UUID

import typer

from wagoe_jobs.clock import Clock
from wagoe_jobs.core.job import Status, checked_name
from wagoe_jobs.core.outcome import LONGEST_DELAY
from wagoe_jobs.ports import JobFilter
from wagoe_jobs.registry import nearest

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")


def read_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no whole job id, which looks like 0197c1de-6b10-7f3a-8c55-0f2a61b7d9e4"
        ) from None


def read_ids(texts: Iterable[str]) -> Sequence[UUID]:
    """Each id once, in the order given; one that is none refuses all, before anything is done."""
    return list(dict.fromkeys(read_id(text) for text in texts))


def one_of(choices: Iterable[str]) -> Callable[[str], str]:
    """Reads one of these words; another is refused with the nearest."""
    words = [str(choice) for choice in choices]

    def read(text: str) -> str:
        if text not in words:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(words)}{nearest(text, words)}")
        return text

    return read


def job_filter(
    *,
    status: str | None = None,
    type: str | None = None,
    queue: str | None = None,
    tenant: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> JobFilter:
    """Raises InvalidJob for a name that no job can have, or an instant that no clock tells."""
    return JobFilter(
        status=None if status is None else Status(status),
        type=None if type is None else checked_name("--type", type),
        queue=None if queue is None else checked_name("--queue", queue),
        tenant=None if tenant is None else checked_name("--tenant", tenant),
        since=since,
        until=until,
    )


def read_moment(text: str) -> datetime:
    """An instant, or how long ago it was: `2h` is two hours before now."""
    if _DURATION.fullmatch(text) is None:
        return read_instant(text, or_else="2h for two hours ago, or ")
    try:
        return Clock().now() - read_duration(text)
    except OverflowError:
        raise typer.BadParameter(f"{text!r} ago is before the year 1") from None


def read_duration(text: str) -> timedelta:
    """`90`, `90s`, `1.5h`; seconds where no unit is named."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is no duration: write 90, 90s, 5m, 2h, 1d or 250ms")
    try:
        return timedelta(seconds=float(match[1]) * _UNITS[match[2] or "s"])
    except OverflowError:
        raise typer.BadParameter(f"{text!r} is longer than any clock runs") from None


def read_wait(text: str) -> timedelta:
    """A duration from now on, as stores keep it."""
    span = read_duration(text)
    if span > LONGEST_DELAY:
        raise typer.BadParameter(f"{text!r} is longer than 100 years")
    return span


def read_instant(text: str, or_else: str = "") -> datetime:
    """ISO 8601 with its offset; one without names no instant and is refused."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no instant: write {or_else}2026-05-01T09:00:00+02:00") from None
    if instant.tzinfo is None:
        raise typer.BadParameter(f"{text!r} has no offset: write {instant.isoformat()}Z for UTC")
    return instant


def read_json(text: str) -> object:
    """A JSON document; `-` reads it from stdin. Strict: a key twice, NaN, or 1e400 is a slip and not a value."""
    if text == "-" and sys.stdin is None:
        raise typer.BadParameter("there is no stdin to read")
    try:
        source = sys.stdin.read() if text == "-" else text
        return json.loads(source, object_pairs_hook=_each_once, parse_constant=_refuse, parse_float=_finite)
    except ValueError as error:
        raise typer.BadParameter(f"it is not JSON: {error}") from None
    except RecursionError:
        raise typer.BadParameter("it is nested too deep") from None


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object names a key twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is larger than any number with a fraction")
    return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number there")
