"""Waking up: news of work ends a wait, wherever the news comes from, and no news does not."""

import threading
from collections.abc import Callable
from datetime import timedelta

from wagoe_jobs.core.job import Status
from wagoe_jobs.ports import WakingJobQueue
from wagoe_jobs.testing.backend import HOUR, Backend, ending
from wagoe_jobs.testing.subjects import State
from wagoe_jobs.testing.table import covers

NOTHING = timedelta(0)
SHORT = timedelta(milliseconds=50)
LONG = timedelta(seconds=10)


def _waking(backend: Backend) -> WakingJobQueue:
    queue = backend.queue
    assert isinstance(queue, WakingJobQueue)
    return queue


def _wakes(backend: Backend, act: Callable[[], object]) -> bool:
    """Whether a wait, begun before `act` of another thread, ends with news."""
    with _waking(backend).wake_up("line") as place:
        while place.wait(NOTHING):
            pass  # news of what the case did before
        thread = threading.Timer(0.05, act)
        thread.start()
        try:
            return place.wait(LONG)
        finally:
            thread.join()


@covers("wake_up", State.READY)
def case_an_enqueue_of_another_client_wakes(backend: Backend) -> None:
    other = backend.second()
    assert _wakes(backend, lambda: other.queue.enqueue(backend.job()))
    assert _wakes(backend, lambda: other.queue.enqueue_many([backend.job(), backend.job()]))


@covers("wake_up", State.SCHEDULED, State.RETRYING)
def case_a_schedule_wakes(backend: Backend) -> None:
    other = backend.second()
    assert _wakes(backend, lambda: other.queue.schedule(backend.job(), HOUR))
    backend.put()
    claim = backend.take()
    assert _wakes(backend, lambda: other.queue.settle([ending(claim, Status.RETRYING)]))


@covers("wake_up", State.HANDED_BACK, State.RECLAIMED)
def case_what_comes_back_wakes(backend: Backend) -> None:
    other = backend.second()
    backend.put()
    claim = backend.take()
    assert _wakes(backend, lambda: other.queue.hand_back([claim]))
    backend.take()
    backend.expire()
    assert _wakes(backend, other.queue.reclaim_abandoned)


@covers("wake_up", State.READY)
def case_news_between_two_waits_is_not_lost(backend: Backend) -> None:
    with _waking(backend).wake_up("line") as place:
        place.wait(SHORT)
        backend.second().queue.enqueue(backend.job())
        assert place.wait(LONG)


@covers("wake_up", State.UNKNOWN)
def case_without_news_a_wait_ends_at_its_time(backend: Backend) -> None:
    with _waking(backend).wake_up("line") as place:
        while place.wait(NOTHING):
            pass
        assert place.wait(SHORT) is False


@covers("wake_up", State.UNKNOWN)
def case_an_interrupt_ends_the_present_or_the_next_wait(backend: Backend) -> None:
    with _waking(backend).wake_up("line") as place:
        place.interrupt()
        place.wait(LONG)
        thread = threading.Timer(0.05, place.interrupt)
        thread.start()
        place.wait(LONG)
        thread.join()
