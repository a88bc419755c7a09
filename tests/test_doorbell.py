"""A bell ends a wait on other sockets, once for any number of rings."""

import os
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from wagoe_jobs.doorbell import Doorbell


@pytest.fixture
def bell() -> Iterator[Doorbell]:
    with closing(Doorbell()) as bell:
        yield bell


def rings(bell: Doorbell, seconds: float = 0) -> bool:
    return select.select([bell], [], [], seconds)[0] == [bell]


def test_a_ring_ends_a_wait_on_another_socket(bell: Doorbell) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        timer = threading.Timer(0.05, bell.ring)
        timer.start()
        ready, _, _ = select.select([ours, bell], [], [], 10)
        timer.join()
        assert ready == [bell]


def test_it_is_silent_again_once_it_was_answered(bell: Doorbell) -> None:
    assert bell.answer() is False
    bell.ring()
    assert rings(bell)
    assert bell.answer() is True
    assert not rings(bell)
    assert bell.answer() is False


def test_any_number_of_rings_is_one_and_blocks_nobody(bell: Doorbell) -> None:
    for _ in range(100_000):
        bell.ring()
    assert bell.answer() is True
    assert not rings(bell)
    bell.ring()
    assert rings(bell)


def test_a_closed_one_holds_nothing_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        Doorbell().close()
    assert len(os.listdir("/proc/self/fd")) == before
