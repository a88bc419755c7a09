"""Instants and durations as people read them."""

from datetime import datetime, timedelta

_STEPS = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def ago(instant: datetime, now: datetime) -> str:
    """`5m ago`, `in 2h`: how far an instant lies from now, in its largest unit."""
    away = now - instant
    return f"{span(away)} ago" if away >= timedelta(0) else f"in {span(-away)}"


def span(duration: timedelta) -> str:
    """`45s`, `3m`, `2h`, `5d`: whole numbers of the largest unit that there is one of."""
    seconds = int(duration.total_seconds())
    size, unit = next(((size, unit) for size, unit in _STEPS if seconds >= size), (1, "s"))
    return f"{seconds // size}{unit}"


def millis(duration: timedelta | None) -> float | None:
    """To one decimal."""
    return None if duration is None else round(duration.total_seconds() * 1000, 1)
