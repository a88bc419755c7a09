"""A queue that fails on purpose, before or after the call has had its effect."""

import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Any, Literal, Self

from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import WakeUp, WakingJobQueue

When = Literal["before", "after"] | None
Plan = Callable[[str, int], When]
"""What happens at the n-th call (from 1) of a method."""

CALLED_BY_POOLS = (
    "exchange",
    "settle",
    "hand_back",
    "renew",
    "process_scheduled",
    "reclaim_abandoned",
    "next_due",
    "list_queues",
    "wait",
)
"""`wait` is that of the waiting places."""


class FaultyQueue:
    """A leased queue over another, which wakes where that one does.

    `plan` may be replaced at any time; `calls` counts them.
    """

    def __init__(
        self, queue: Any, plan: Plan, error: Callable[[], Exception] = lambda: BackendUnavailable("x")
    ) -> None:
        self.real = queue
        self.plan = plan
        self.calls: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._error = error or (lambda: BackendUnavailable("x"))
        self._lock = threading.Lock()
        if isinstance(queue, WakingJobQueue):
            self.wake_up = self._wake_up

    @property
    def lease(self) -> timedelta:
        return self.real.lease  # type: ignore[no-any-return]

    def _wake_up(self, queue: str) -> "FaultyPlace":
        return FaultyPlace(self, self.real.wake_up(queue))

    def close(self) -> None:
        self.real.close()

    def call(self, name: str, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        with self._lock:
            self.calls[name] += 1
            when = self.plan(name, self.calls[name])
            self.failed[name] += when is not None
        if when == "before":
            raise self._error()
        answer = method(*args, **options)
        if when == "after":
            raise self._error()
        return answer


def _passed(name: str) -> Callable[..., Any]:
    def method(self: FaultyQueue, *args: Any, **options: Any) -> Any:
        return self.call(name, getattr(self.real, name), *args, **options)

    return method


for _name in (
    *("enqueue", "enqueue_many", "schedule", "claim", "settle", "exchange", "ack", "hand_back", "reclaim_abandoned"),
    *("peek", "delete", "cancel", "size", "list_queues", "process_scheduled", "next_due", "renew", "interrupt"),
):
    setattr(FaultyQueue, _name, _passed(_name))


class FaultyPlace:
    """A waiting place whose `wait` follows the queue's plan."""

    def __init__(self, queue: FaultyQueue, place: WakeUp) -> None:
        self._queue = queue
        self._place = place

    def wait(self, timeout: timedelta) -> bool:
        return bool(self._queue.call("wait", self._place.wait, timeout))

    def interrupt(self) -> None:
        self._place.interrupt()

    def __enter__(self) -> Self:
        self._place.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._place.__exit__(kind, error, trace)


def healthy(name: str, call: int) -> When:
    return None
