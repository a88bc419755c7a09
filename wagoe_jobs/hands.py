"""Threads for the `def` handlers of slots that are tasks.

One is started when no other is free, and then kept: there are never more than slots, and those that are lost.
A handler that does not return keeps its thread for itself; being a daemon, that does not keep the process.
"""

from asyncio import Future
from collections.abc import Callable
from contextvars import Context
from functools import partial
from queue import SimpleQueue
from threading import Thread

from wagoe_jobs.failures import failure_of
from wagoe_jobs.loop_thread import LoopThread


class Hand:
    """One thread; `answer` is what a slot awaits while it is busy."""

    def __init__(self, name: str, work: "Callable[[Hand], None]") -> None:
        self.calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self.answer: Future[object] | None = None
        self.thread = Thread(target=work, args=(self,), name=name, daemon=True)
        self.thread.start()


class Hands:
    """The threads of one lane. `run` is called on the loop; `close` when nobody calls it any more."""

    def __init__(self, name: str, loop: LoopThread) -> None:
        self._name = name
        self._loop = loop
        self._all: list[Hand] = []
        self._idle: list[Hand] = []

    def run(self, context: Context, function: Callable[..., object], *args: object) -> "Future[object]":
        """What the function returns, a Failure when it raises."""
        hand = self._idle.pop() if self._idle else self._hire()
        answer = self._loop.loop.create_future()
        hand.answer = answer
        hand.calls.put(partial(context.run, function, *args))
        return answer

    def close(self) -> None:
        """End those that are free now, the others when they have returned."""
        for hand in self._all:
            hand.calls.put(None)
        for hand in self._idle:
            hand.thread.join()

    def _hire(self) -> Hand:
        hand = Hand(f"{self._name}-hand-{len(self._all) + 1}", self._work)
        self._all.append(hand)
        return hand

    def _work(self, hand: Hand) -> None:
        while (call := hand.calls.get()) is not None:
            try:
                answer = call()
            except BaseException as exc:  # noqa: BLE001 - a handler may raise anything
                answer = failure_of(exc)
            self._loop.call(self._done, hand, answer)
            del call, answer  # neither args nor result outlive the run

    def _done(self, hand: Hand, value: object) -> None:
        answer, hand.answer = hand.answer, None
        self._idle.append(hand)
        if answer is not None and not answer.done():
            answer.set_result(value)
