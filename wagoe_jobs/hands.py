"""Threads for the `def` handlers of slots that are tasks.

One is started when no other is free, and then kept: there are never more than slots, and those that are lost.
A handler that does not return keeps its thread for itself; being a daemon, that does not keep the process.

What a handler leaves behind in its thread, as a trace function or somebody's exception that comes late, may be raised
anywhere in here: a call is therefore kept until it is answered, begun once, and answered whatever happens.
"""

import logging
from asyncio import Future
from collections.abc import Callable
from contextvars import Context
from functools import partial
from queue import SimpleQueue
from threading import Thread

from wagoe_jobs.failures import failure_of
from wagoe_jobs.forks import Home
from wagoe_jobs.loop_thread import LoopThread

log = logging.getLogger("wagoe_jobs")


class Call:
    """What a hand is to do, and what a slot awaits meanwhile."""

    __slots__ = ("answer", "begun", "function")

    def __init__(self, function: Callable[[], object], answer: "Future[object]") -> None:
        self.function = function
        self.answer = answer
        self.begun = False


class Hand:
    """One thread; `call` is set and taken away on the loop, which rings the bell."""

    def __init__(self, name: str, work: "Callable[[Hand], None]") -> None:
        self.call: Call | None = None
        self.bell: SimpleQueue[None] = SimpleQueue()
        self.dismissed = False
        self.thread = Thread(target=work, args=(self,), name=name, daemon=True)
        self.thread.start()

    def do(self, call: Call) -> None:
        self.call = call
        self.bell.put(None)

    def dismiss(self) -> None:
        self.dismissed = True
        self.bell.put(None)

    def next(self) -> Call | None:
        """Wait for a call that has not begun; None once there will be none."""
        while True:
            call = self.call
            if call is not None and not call.begun:
                return call
            del call  # neither args nor result outlive the run
            if self.dismissed:
                return None
            self.bell.get()


class Hands:
    """The threads of one lane. `run` is called on the loop; `close` when nobody calls it any more."""

    def __init__(self, name: str, loop: LoopThread) -> None:
        self.home = Home()
        self._name = name
        self._loop = loop
        self._all: list[Hand] = []
        self._idle: list[Hand] = []

    def run(self, context: Context, function: Callable[..., object], *args: object) -> "Future[object]":
        """What the function returns, a Failure when it raises."""
        hand = self._idle.pop() if self._idle else self._hire()
        answer = self._loop.loop.create_future()
        hand.do(Call(partial(context.run, function, *args), answer))
        return answer

    def close(self) -> None:
        """End those that are free now, the others when they have returned."""
        for hand in self._all:
            hand.dismiss()
        for hand in self._idle:
            hand.thread.join()

    def _hire(self) -> Hand:
        hand = Hand(f"{self._name}-hand-{len(self._all) + 1}", self._work)
        self._all.append(hand)
        return hand

    def _work(self, hand: Hand) -> None:
        ended = False
        while not ended:
            try:
                while (call := hand.next()) is not None:
                    self._answer(hand, call)
                    del call
                ended = True
            except BaseException as exc:  # noqa: BLE001 - the hand outlives whatever a handler left in its thread
                self._stumble(hand, exc)

    def _answer(self, hand: Hand, call: Call) -> None:
        call.begun = True
        try:
            answer = call.function()
            self.home.end_child(hand.thread.name)
        except BaseException as exc:  # noqa: BLE001 - a handler may raise anything
            self.home.end_child(hand.thread.name, exc)
            answer = failure_of(exc)
        self._loop.call(self._done, hand, call, answer)

    def _stumble(self, hand: Hand, error: BaseException) -> None:
        """Something was raised beside the handler: its run ends with that, unless it has been answered or not begun."""
        log.error("%s stumbles over what a handler left in its thread, and goes on: %r", hand.thread.name, error)
        if (call := hand.call) is not None and call.begun:
            self._loop.call(self._done, hand, call, failure_of(error))

    def _done(self, hand: Hand, call: Call, value: object) -> None:
        if hand.call is not call:  # answered before
            return
        hand.call = None
        self._idle.append(hand)
        if not call.answer.done():
            call.answer.set_result(value)
