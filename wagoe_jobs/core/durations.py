"""What is told of how long runs took: every store tells it of the same runs in the same way."""

from collections.abc import Iterable
from datetime import timedelta

SAMPLE = 1_000
"""How many completed runs, the latest, are looked at."""


def durations_of(runs_us: Iterable[int]) -> tuple[timedelta | None, timedelta | None]:
    """Mean and 95th percentile (nearest rank) of runs in microseconds; None for both without any."""
    runs = sorted(runs_us)
    if not runs:
        return None, None
    rank = -(-95 * len(runs) // 100)
    return timedelta(microseconds=sum(runs) / len(runs)), timedelta(microseconds=runs[rank - 1])
