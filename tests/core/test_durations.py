"""Mean and 95th percentile of runs."""

from datetime import timedelta

import pytest

from wagoe_jobs.core.durations import durations_of


@pytest.mark.parametrize(
    ("runs_us", "mean", "p95"),
    [([7], 7, 7), ([1, 3], 2, 3), (range(1, 101), 50.5, 95), (range(20, 0, -1), 10.5, 19)],
)
def test_the_percentile_is_by_nearest_rank(runs_us: list[int], mean: float, p95: int):
    assert durations_of(runs_us) == (timedelta(microseconds=mean), timedelta(microseconds=p95))


def test_without_runs_there_is_neither():
    assert durations_of([]) == (None, None)
