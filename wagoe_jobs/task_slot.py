"""A slot that is a task: how a handler is run on the loop that all slots of a pool share.

A slot is one task for all its runs, so `asyncio.current_task()` is the slot's. Each run has context variables of
its own all the same, since its coroutine is driven by hand inside them.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context, copy_context
from inspect import isawaitable
from threading import Lock
from types import coroutine
from typing import Any, cast

from wagoe_jobs.context import JobContext, Pending, within
from wagoe_jobs.core.clean import clean
from wagoe_jobs.hands import Hands
from wagoe_jobs.loop_thread import LoopThread
from wagoe_jobs.registry import Handler
from wagoe_jobs.slot import Slot

log = logging.getLogger("wagoe_jobs")

Steps = Coroutine[Any, Any, object]
UNBEGUN = object()


class TaskSlot(Slot):
    """One long-lived task. `suspended` becomes true when a run has to wait; the lane sets it back."""

    __slots__ = ("_handler", "_hands", "_latch", "_life", "_loop", "_task", "_waits", "dismissed", "suspended")

    def __init__(
        self, name: str, loop: LoopThread, hands: Hands, timed: Callable[[Slot], None], waits: Callable[[], None]
    ) -> None:
        """`waits` is called on the loop when a run has to wait, which lets other slots run."""
        super().__init__(name, timed)
        self.suspended = False
        self.dismissed = False
        self._loop = loop
        self._hands = hands
        self._waits = waits
        self._task: asyncio.Task[None] | None = None
        self._latch: asyncio.Future[None] | None = None
        self._handler: Handler | None = None
        self._life = Lock()
        self._life.acquire()

    @property
    def alive(self) -> bool:
        return self._life.locked()

    def join(self, timeout: float) -> None:
        if self._life.acquire(timeout=timeout):
            self._life.release()

    def begin(self, work: "Callable[[TaskSlot], Coroutine[Any, Any, None]]") -> None:
        """Let the task do this, on the loop; in a context of its own, since whoever starts a pool has one too."""
        self._task = self._loop.loop.create_task(work(self), name=self.name, context=Context())
        self._loop.names[self._task] = self._told
        self._task.add_done_callback(self._ended)

    def dismiss(self) -> None:
        """End the task, on the loop, whatever it waits for; only its handler may refuse."""
        self.dismissed = True
        if self._task is not None:
            self._task.cancel()

    @property
    def harmed(self) -> bool:
        """Whether a cancellation of the task is left over from a run."""
        return self._task is not None and self._task.cancelling() > 0

    async def turn(self) -> None:
        """Let the loop turn once."""
        await self._unharmed(asyncio.sleep(0))

    async def park(self) -> bool:
        """Sleep until `wake`; False when something else ended the sleep."""
        self._latch = latch = self._loop.loop.create_future()
        await self._unharmed(latch)
        return not latch.cancelled()

    def wake(self) -> None:
        if self._latch is not None and not self._latch.done():
            self._latch.set_result(None)

    def call(self, handler: Handler, args: object, context: JobContext | None) -> object:
        """What the handler comes to if it need not wait, else what this slot must await; that is awaited once."""
        self._handler = handler
        given = (args,) if context is None else (args, context)
        variables = copy_context()
        if not handler.is_async:
            return Pending(self._by_hand(handler, variables, given), variables)
        steps = cast(Steps, variables.run(handler.function, *given))
        if handler.timeout is not None:
            return Pending(within(self._driven(steps, variables), handler.timeout), variables)
        try:
            awaited = variables.run(steps.send, None)
        except StopIteration as done:
            return done.value
        return Pending(self._driven(steps, variables, awaited), variables)

    async def _by_hand(self, handler: Handler, variables: Context, given: tuple[object, ...]) -> object:
        """A `def` handler, in a thread."""
        running = self._hands.run(variables, handler.function, *given)
        self._suspend()
        answer = await self._end_of(running)
        if answer is None or not isawaitable(answer):
            return answer
        spent_us = self.ends_itself(handler.timeout)
        return await within(self._driven(_awaiting(answer), variables), handler.timeout, spent_us)

    async def _end_of(self, running: "asyncio.Future[object]") -> object:
        """Wait for the thread, whoever cancels this task: only the end of the pool may leave it alone."""
        while True:
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                if self.dismissed:
                    raise

    @coroutine
    def _driven(self, steps: Steps, variables: Context, awaited: object = UNBEGUN) -> Generator[Any, Any, object]:
        """Let the coroutine run inside `variables` while the task sees to what it waits for: `awaited`, if begun."""
        thrown: BaseException | None = None
        try:
            if awaited is UNBEGUN:
                awaited = variables.run(steps.send, None)
            self._suspend()
            while True:
                if self._hands.home.left:  # a child that waits would go on with what other slots have begun
                    self._hands.home.end_child(self._told(), RuntimeError("it waits on its parent's event loop"))
                sent = None
                try:
                    sent = yield awaited
                except BaseException as exc:  # noqa: BLE001 - it is the coroutine's to deal with
                    thrown = exc
                if thrown is None:
                    awaited = variables.run(steps.send, sent)
                else:
                    awaited = variables.run(steps.throw, thrown)
                    thrown = None
        except StopIteration as done:
            return done.value
        finally:
            thrown = None  # it refers to this frame

    def _suspend(self) -> None:
        self.suspended = True
        self._waits()

    async def _unharmed(self, waiting: Awaitable[object]) -> None:
        """Wait, and forget cancellations of the task: they were meant for a run that is over."""
        try:
            await waiting
        except asyncio.CancelledError:
            if self.dismissed:
                raise
        while self.harmed and not self.dismissed:
            cast("asyncio.Task[None]", self._task).uncancel()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        del self._loop.names[task]
        self._life.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s ends: %r", self.name, error, exc_info=error)

    def _told(self) -> str:
        type = self._handler.type if self._handler else "?"
        return f"the handler of {clean(type)!r} (job {self.claim.id if self.claim else '?'})"


async def _awaiting(answer: Any) -> object:
    return await answer
