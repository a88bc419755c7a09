"""What is kept of recurring jobs: which are scheduled, what fired last, and who may fire."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol, runtime_checkable

from wagoe_jobs.values import Schedule


@runtime_checkable
class RecurringState(Protocol):
    """Schedules, their last ticks, and the lease of the one ticker that fires them."""

    def register(self, schedule: Schedule) -> Schedule:
        """Keep the schedule of a type, as it is stored afterwards; the same text again resets no instant."""
        ...

    def unregister(self, type: str) -> bool:
        """Forget the type's schedule; False without one."""
        ...

    def schedules(self) -> Sequence[Schedule]:
        """All of them, by type."""
        ...

    def mark_tick(self, type: str, tick_us: int) -> bool:
        """Record that this instant fired; False when it is not after the last one, or nothing is scheduled."""
        ...

    def hold(self, holder: str, lease: timedelta) -> bool:
        """Take or renew the ticker's lease; False while another holds it."""
        ...

    def let_go(self, holder: str) -> bool:
        """Give the lease up; False when it is not this holder's."""
        ...
