"""What a pool tells of itself: listed while it lives, gone when it left, and patient while its store is away."""

import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from importlib import metadata
from typing import Any

import pytest

from tests.until import until
from wagoe_jobs.adapters import memory
from wagoe_jobs.clock import Clock, Ids
from wagoe_jobs.core.codec import encode_job
from wagoe_jobs.core.job import make_job
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.heartbeat import Heartbeat, own_card
from wagoe_jobs.identity import worker_name
from wagoe_jobs.ports import RUNNING_LIMIT, Beat, Claim, PresentWorker, WorkerCard, WorkerPresence

OFTEN = timedelta(milliseconds=20)
Said = Callable[[], str]


class Faulty:
    """A presence that fails while `down`, and counts its calls."""

    def __init__(self, real: WorkerPresence) -> None:
        self.real = real
        self.down = False
        self.calls: Counter[str] = Counter()
        self.error: Exception = BackendUnavailable("x", "it is away")

    def announce(self, card: WorkerCard) -> WorkerCard:
        self._call("announce")
        return self.real.announce(card)

    def beat(self, name: str, beat: Beat) -> bool:
        self._call("beat")
        return self.real.beat(name, beat)

    def leave(self, name: str) -> bool:
        self._call("leave")
        return self.real.leave(name)

    def list(self) -> Sequence[PresentWorker]:
        return self.real.list()

    def _call(self, name: str) -> None:
        self.calls[name] += 1
        if self.down:
            raise self.error


def claim(n: int, payload: str | None = None) -> Claim:
    job = make_job(f"type-{n}", None, id=Ids().new(), now=Clock().now())
    return Claim(str(job.id), "token", "default", encode_job(job) if payload is None else payload, 2, n, n)


def heartbeat(presence: WorkerPresence, **given: Any) -> Heartbeat:
    options = {
        "queues": ("default",),
        "slots": 3,
        "job_types": lambda: ("greet",),
        "running": lambda: (),
        "polled_us": lambda: 0,
        "down": lambda: False,
        "every": OFTEN,
    }
    return Heartbeat(presence, worker_name(), **{**options, **given})


@pytest.fixture
def presence() -> Faulty:
    return Faulty(memory.worker_presence())


def test_the_card_and_the_beat_tell_who_and_what(presence: Faulty) -> None:
    running = [claim(7), claim(5), claim(6, payload="{")]
    polled_us = time.monotonic_ns() // 1000 - 3_000_000
    with heartbeat(presence, running=lambda: running, polled_us=lambda: polled_us) as beating:
        [worker] = until(presence.list)
        until(lambda: presence.list()[0].polled_us)
        [worker] = presence.list()
        card = worker.card
        assert (card.name, card.host, card.pid) == (beating.worker, socket.gethostname(), os.getpid())
        assert (card.queues, card.job_types, card.slots) == (("default",), ("greet",), 3)
        assert card.version == metadata.version("wagoe-jobs")
        assert [(job.type, job.since_us) for job in worker.running] == [("type-5", 5), ("unknown", 6), ("type-7", 7)]
        assert worker.running_count == 3
        assert worker.polled_us is not None
        assert worker.polled_us < card.started_us
    assert presence.list() == []


def test_of_many_jobs_those_that_run_longest_are_told(presence: Faulty) -> None:
    running = [claim(n) for n in reversed(range(RUNNING_LIMIT + 50))]
    with heartbeat(presence, running=lambda: running):
        [worker] = until(lambda: [one for one in presence.list() if one.running])
    assert [job.since_us for job in worker.running] == list(range(RUNNING_LIMIT))
    assert worker.running_count == RUNNING_LIMIT + 50


def test_a_card_that_was_deleted_comes_back_as_it_was(presence: Faulty) -> None:
    with heartbeat(presence) as beating:
        [worker] = until(presence.list)
        time.sleep(0.01)
        assert presence.real.leave(beating.worker)
        [again] = until(presence.list)
    assert again.card == worker.card


def test_a_type_that_is_registered_later_is_told(presence: Faulty) -> None:
    types = ["b"]
    with heartbeat(presence, job_types=lambda: types):
        until(presence.list)
        types.append("a")
        until(lambda: presence.list()[0].card.job_types == ("a", "b"))
        announced = presence.calls["announce"]
        beats = presence.calls["beat"]
        until(lambda: presence.calls["beat"] > beats + 3)
        assert presence.calls["announce"] == announced


@pytest.mark.fault(18)
@pytest.mark.parametrize("error", [BackendUnavailable("x", "it is away"), ValueError("a bug")])
def test_an_outage_is_outlived_and_said_once(presence: Faulty, said: Said, error: Exception) -> None:
    presence.error = error
    presence.down = True
    with heartbeat(presence) as beating:
        until(lambda: presence.calls["announce"] >= 5)
        presence.down = False
        until(presence.list)
        presence.down = True
        beats = presence.calls["beat"]
        until(lambda: presence.calls["beat"] > beats + 5)
        presence.down = False
        presence.real.leave(beating.worker)
        until(presence.list)
    assert said().count("telling the store about this worker pool fails") == 2
    assert said().count("telling the store about this worker pool works again") == 2


@pytest.mark.parametrize("known", [False, True])
def test_a_store_that_is_away_is_not_asked_at_the_stop(presence: Faulty, known: bool) -> None:
    with heartbeat(presence, down=lambda: known):
        until(presence.list)
        if not known:
            presence.down = True
            beats = presence.calls["beat"]
            until(lambda: presence.calls["beat"] > beats + 1)
    assert presence.calls["leave"] == 0


def test_a_leave_that_fails_is_said_and_raises_nothing(presence: Faulty, said: Said) -> None:
    with heartbeat(presence, every=timedelta(hours=1)):
        until(lambda: presence.calls["beat"])
        presence.down = True
    assert "could not take its leave: BackendUnavailable" in said()


@pytest.mark.parametrize("host", ["", "a\nb\udc80\0" * 90, " \u2028 ", "höst"])
def test_any_host_name_makes_a_card(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    card = own_card(worker_name(), ("default",), 1)
    assert card.host.isprintable()
    assert card.name.startswith(f"{card.host}:{card.pid}:")
