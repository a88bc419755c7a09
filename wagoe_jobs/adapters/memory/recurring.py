"""Schedules, last ticks and the ticker's lease in memory."""

from collections.abc import Sequence
from datetime import timedelta

from wagoe_jobs.adapters.memory.state import MemoryState
from wagoe_jobs.ports import Schedule

_US = timedelta(microseconds=1)


class MemoryRecurringState:
    """RecurringState over a `MemoryState`."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def register(self, schedule: Schedule) -> Schedule:
        with self._state.lock:
            kept = self._state.schedules.get(schedule.type)
            if kept is not None and kept.text == schedule.text:
                stored = schedule._replace(first_seen_us=kept.first_seen_us, last_tick_us=kept.last_tick_us)
            else:
                stored = schedule._replace(first_seen_us=self._state.now_us(), last_tick_us=None)
            self._state.schedules[schedule.type] = stored
            return stored

    def unregister(self, type: str) -> bool:
        with self._state.lock:
            return self._state.schedules.pop(type, None) is not None

    def schedules(self) -> Sequence[Schedule]:
        with self._state.lock:
            return sorted(self._state.schedules.values())

    def mark_tick(self, type: str, tick_us: int) -> bool:
        with self._state.lock:
            kept = self._state.schedules.get(type)
            if kept is None or (kept.last_tick_us is not None and tick_us <= kept.last_tick_us):
                return False
            self._state.schedules[type] = kept._replace(last_tick_us=tick_us)
            return True

    def hold(self, holder: str, lease: timedelta) -> bool:
        with self._state.lock:
            now = self._state.now_us()
            if self._state.ticker is not None and self._state.ticker[0] != holder and self._state.ticker[1] > now:
                return False
            self._state.ticker = (holder, now + lease // _US)
            return True

    def let_go(self, holder: str) -> bool:
        with self._state.lock:
            if self._state.ticker is None or self._state.ticker[0] != holder:
                return False
            self._state.ticker = None
            return True
