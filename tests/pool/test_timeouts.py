"""What it costs to watch time-outs: nothing for slots that have none, and little for those whose time-out is far."""

import time
from datetime import timedelta

import pytest

from wagoe_jobs.context import monotonic_us
from wagoe_jobs.slot import Slot, Timeouts


class Counted(Slot):
    """A slot that nobody runs, and that counts how often its time-out is looked at."""

    looks = 0
    alive = True
    _deadline_us = 0

    @property
    def deadline_us(self) -> int:
        self.looks += 1
        return self._deadline_us

    @deadline_us.setter
    def deadline_us(self, value: int) -> None:
        self._deadline_us = value

    def join(self, timeout: float) -> None:
        pass


def looks(slots: list[Counted]) -> int:
    return sum(slot.looks for slot in slots)


def begun(timeouts: Timeouts, count: int, seconds: float) -> list[Counted]:
    slots = [Counted(str(n), timeouts.began) for n in range(count)]
    for slot in slots:
        slot.timed(timedelta(seconds=seconds), monotonic_us(), is_async=False)
    return slots


def test_a_time_out_that_is_far_is_looked_at_once() -> None:
    timeouts = Timeouts()
    slots = begun(timeouts, 2_000, 30)
    for _ in range(100):
        assert not timeouts.ended(monotonic_us())
    assert looks(slots) == 2_000
    assert timeouts.next_us > monotonic_us() + 29_000_000


def test_only_those_whose_time_is_over_are_told() -> None:
    timeouts = Timeouts()
    far, near, over = begun(timeouts, 3, 30), begun(timeouts, 3, 0.02), begun(timeouts, 3, 0.01)
    for slot in over:
        assert slot.in_time()
    time.sleep(0.03)
    assert {*timeouts.ended(monotonic_us())} == {*near}
    assert not timeouts.ended(monotonic_us())
    assert all(slot.in_time() for slot in far + near)
    assert not timeouts.ended(timeouts.next_us)
    assert timeouts.next_us == 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_slot_whose_next_run_begins_beside_a_look_is_not_forgotten(when: str) -> None:
    timeouts = Timeouts()
    [slot] = begun(timeouts, 1, 0)
    assert slot.in_time()
    if when == "after":
        assert not timeouts.ended(monotonic_us())
    slot.timed(timedelta(0), monotonic_us(), is_async=False)
    assert timeouts.ended(monotonic_us() + 1) == [slot]
