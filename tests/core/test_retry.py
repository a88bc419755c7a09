"""A retry is never early, never later than the longest wait, and no number of repeats overflows."""

from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wagoe_jobs.core.retry import Backoff, Strategy

MICRO = timedelta(microseconds=1)
DELAYS = st.timedeltas(MICRO, timedelta.max)


@pytest.mark.fault(15)
@pytest.mark.parametrize("chance", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("n", [0, 1, 6, 16, 63, 64, 1023, 1024, 10**6, 10**400])
def test_the_delay_is_the_capped_power_of_two_within_a_tenth(n, chance):
    exact = min(60_000, 1_000 * 2 ** min(n, 100))
    delay = Backoff().delay(n, chance=chance) / timedelta(milliseconds=1)
    assert 0.9 * exact <= delay <= 1.1 * exact


def test_the_first_waits_are_one_two_four_seconds():
    waits = [Backoff(jitter=False).delay(n) for n in range(8)]
    assert waits == [timedelta(seconds=s) for s in (1, 2, 4, 8, 16, 32, 60, 60)]


def test_linear_waits_grow_by_the_first():
    waits = [Backoff(strategy=Strategy.LINEAR, jitter=False).delay(n) for n in (0, 1, 2, 58, 59, 60, 10**9)]
    assert waits == [timedelta(seconds=s) for s in (1, 2, 3, 59, 60, 60, 60)]


def test_constant_waits_do_not_grow():
    backoff = Backoff(strategy=Strategy.CONSTANT, initial=timedelta(seconds=7), jitter=False)
    assert {backoff.delay(n) for n in (0, 1, 100, 10**9)} == {timedelta(seconds=7)}


@pytest.mark.parametrize("strategy", Strategy)
def test_no_wait_at_all_stays_none(strategy):
    for backoff in (
        Backoff(strategy=strategy, initial=timedelta(0)),
        Backoff(strategy=strategy, max_delay=timedelta(0)),
    ):
        assert backoff.delay(5, chance=1.0) == timedelta(0)


@pytest.mark.fault(15)
@example(Strategy.EXPONENTIAL, timedelta.max, timedelta.max, 0, 1.0)
@example(Strategy.EXPONENTIAL, timedelta.max, timedelta.max, 5, 0.0)
@example(Strategy.EXPONENTIAL, MICRO, timedelta.max, 10**6, 1.0)
@example(Strategy.LINEAR, timedelta.max / 2, timedelta.max, 1, 1.0)
@example(Strategy.LINEAR, MICRO, timedelta.max, 10**30, 0.5)
@example(Strategy.CONSTANT, timedelta.max, timedelta.max, 0, 1.0)
@given(st.sampled_from(Strategy), DELAYS, DELAYS, st.integers(0, 10**30), st.floats(0, 1))
def test_no_number_of_repeats_overflows_or_leaves_the_tenth(strategy, initial, most, n, chance):
    backoff = Backoff(strategy=strategy, initial=initial, max_delay=most)
    delay = backoff.delay(n, chance=chance)
    exact = min(Fraction(most // MICRO), _exact(strategy, initial // MICRO, n))
    longest = Fraction(timedelta.max // MICRO)
    # a float has 53 bits, and a delay is rounded to a microsecond
    slack = 1 + exact / 2**50
    assert min(exact * 9 / 10, longest) - slack <= delay // MICRO <= exact * 11 / 10 + slack


@given(st.sampled_from(Strategy), DELAYS, DELAYS, st.integers(0, 2000))
def test_waits_never_shrink_and_never_pass_the_longest(strategy, initial, most, n):
    backoff = Backoff(strategy=strategy, initial=initial, max_delay=most, jitter=False)
    assert backoff.delay(n) <= backoff.delay(n + 1) <= most


def _exact(strategy: Strategy, initial: int, n: int) -> Fraction:
    match strategy:
        case Strategy.EXPONENTIAL:
            return Fraction(initial * 2 ** min(n, 200))
        case Strategy.LINEAR:
            return Fraction(initial * (n + 1))
        case Strategy.CONSTANT:
            return Fraction(initial)
