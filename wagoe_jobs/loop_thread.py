"""One event loop in a thread of its own, for all slots of a pool that are tasks.

It turns until it is closed, whatever handlers do to it: stop it, or leave a task behind that raises SystemExit.
What it cannot do is turn while a handler blocks it; others see this by `late_us`, and `glance` tells who it is.
"""

import asyncio
import logging
import sys
import traceback
from collections.abc import Callable
from functools import partial
from threading import Thread
from time import monotonic
from typing import Any

from wagoe_jobs.context import monotonic_us

log = logging.getLogger("wagoe_jobs")

PATIENCE = 1.0
"""Seconds that what handlers left on the loop may take to end once it is cancelled."""
BLOCKED_US = 500_000
"""A loop that does not answer for so long is reported."""


class LoopThread:
    """The loop and its thread; `start` and `close` belong to whoever made it."""

    def __init__(self, name: str) -> None:
        self._name = f"{name}-loop"
        self._asked_us = 0
        self._reported_us = 0
        self._ending = False
        self._deadline = 0.0
        self.names: dict[object, Callable[[], str]] = {}
        """How to tell of the tasks that live here for long."""

    def start(self) -> None:
        """Let it turn; leaves nothing behind when it cannot."""
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name=self._name, daemon=True)
        try:
            self._thread.start()
        except BaseException:
            self.loop.close()
            raise

    def call(self, function: Callable[..., object], *args: object) -> None:
        """Have this called on the loop; nothing happens once it is closed."""
        asked_us = self._asked_us
        if not asked_us:
            self._asked_us = monotonic_us()
        try:
            self.loop.call_soon_threadsafe(self._answer, function, args)
        except RuntimeError:  # it was closed: all that lived on it has ended
            self._asked_us = asked_us

    def late_us(self, now_us: int) -> int:
        """How long the loop has not come to do what it was asked to."""
        asked_us = self._asked_us
        return now_us - asked_us if asked_us else 0

    def glance(self, now_us: int) -> None:
        """Ask the loop whether it turns, unless it owes an answer; say so, once, when it does not for long."""
        late_us = self.late_us(now_us)
        if not late_us:
            self.call(_nothing)
        elif late_us >= BLOCKED_US and self._reported_us != self._asked_us:
            self._reported_us = self._asked_us
            log.error(
                "%s is blocked by %s, for %.1f s by now: no other job of this pool goes on meanwhile. It is at %s",
                *(self._name, self._culprit(), late_us / 1e6, self.whereabouts()),
            )

    def whereabouts(self) -> str:
        """The line of code that the loop's thread is at now."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        if frame is None:
            return "its end"
        at = traceback.extract_stack(frame, limit=1)[-1]
        return f"{at.filename}:{at.lineno} in {at.name}"

    def _culprit(self) -> str:
        task = asyncio.current_task(self.loop)
        if task is None:
            return "a callback"
        told = self.names.get(task)
        return f"the task {task.get_name()}" if told is None else told()

    def deadline(self) -> float:
        """The monotonic second until which whoever lives here may wait for its end: one for all, set by the first."""
        self._deadline = self._deadline or monotonic() + PATIENCE
        return self._deadline

    def close(self) -> None:
        """Cancel what is left on the loop, and close it; without waiting long for what does not let itself be ended."""
        self.call(self._end)
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            log.error("%s does not end before the handlers that hold it: it is at %s", self._name, self.whereabouts())

    def _answer(self, function: Callable[..., object], args: tuple[object, ...]) -> None:
        self._asked_us = 0
        function(*args)

    def _end(self) -> None:
        self._ending = True
        self.loop.stop()

    def _run(self) -> None:
        try:
            while not self._ending:
                self._turn(self.loop.run_forever)
            self._sweep()
        finally:
            self.loop.close()

    def _sweep(self) -> None:
        """End what handlers left on the loop."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        ends: list[asyncio.Future[Any]] = [asyncio.gather(*tasks, return_exceptions=True)] if tasks else []
        ends.append(self.loop.create_task(self.loop.shutdown_asyncgens()))
        ends.append(self.loop.create_task(self.loop.shutdown_default_executor()))
        for end in ends:
            while not end.done():
                self._turn(partial(self.loop.run_until_complete, end))

    def _turn(self, turn: Callable[[], object]) -> None:
        try:
            turn()
        except BaseException as exc:  # noqa: BLE001 - SystemExit of a task that a handler left must not end the others
            log.error("a task that a handler left running ends with %s: the loop goes on", type(exc).__name__)


def _nothing() -> None:
    pass
