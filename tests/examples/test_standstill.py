"""`./dev run` never stands still without saying why, goes on when the cause has gone, and gives up in the end."""

import os
import resource
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.dev.test_main_job import Run, assert_complete
from tests.dev.with_server import environment
from tests.servers import PostgresServer, free_port

pytestmark = pytest.mark.timeout(240)


def with_room_for(size: int, run: Run, runner: int) -> None:
    """Files of a run grow up to so many bytes: anyone may set this limit, which is as hard as a full disk."""
    for process in (runner, run.process("web"), run.process("worker")):
        resource.prlimit(process, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def stand_still_and_go_on(run: Run, store: Mapping[str, str]) -> None:
    with run.started(environment=store) as process:
        run.await_runs(50)
        with_room_for(1, run, process.pid)
        run.until(lambda: f"{run.folder} cannot be written to: File too large" in run.text())
        with_room_for(resource.RLIM_INFINITY, run, process.pid)
        assert process.wait(200) == 0, run.text()
    assert "nothing has been done for " in run.text()
    assert_complete(run)


def test_a_disk_without_room_is_told_and_the_run_goes_on_when_there_is_room(tmp_path: Path):
    run = Run(tmp_path)
    stand_still_and_go_on(run, {})
    assert "the web node answers 503: the shop is closed for the moment" in run.text()


def test_without_room_for_receipts_their_jobs_wait_and_do_not_die(tmp_path: Path):
    with PostgresServer() as server, server.database() as url:
        stand_still_and_go_on(Run(tmp_path), environment("postgres", url))


def test_a_run_that_stands_still_for_too_long_is_given_up_and_can_be_resumed(tmp_path: Path):
    run = Run(tmp_path, lines=200)
    with run.started("--patience", "20") as process:
        run.await_runs(20)
        with_room_for(1, run, process.pid)
        assert process.wait(100) == 1, run.text()
    assert run.said[-1] == "given up; what was done is kept"
    assert "resuming" in run.finish()
    assert run.receipts() == run.orders()


def test_a_store_that_does_not_answer_is_told(tmp_path: Path):
    run = Run(tmp_path)
    with PostgresServer() as server, server.database() as url:
        with run.started(environment=environment("postgres", url)) as process:
            run.await_runs(50)
            server.kill()
            run.until(lambda: "  db is unavailable: OperationalError: " in run.text())
            server.start()
            assert process.wait(200) == 0, run.text()
        assert_complete(run)


def test_a_node_that_cannot_go_on_is_told(tmp_path: Path):
    run = Run(tmp_path)
    with run.started() as process:
        run.await_runs(50)
        worker = run.process("worker")
        os.kill(worker, signal.SIGSTOP)
        run.until(lambda: "nothing has been done for " in run.text())
        os.kill(worker, signal.SIGCONT)
        assert process.wait(200) == 0, run.text()
    assert_complete(run)


def test_a_port_that_another_program_has_is_refused_before_it_gets_an_order(tmp_path: Path):
    run = Run(tmp_path, lines=10)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with run.started("--port", port) as process:
            assert process.wait(100) == 2
    assert run.said == [f"--port: {port} cannot be used: [Errno 98] Address already in use"]


def test_a_node_that_dies_in_vain_is_given_up_with_its_last_words(tmp_path: Path):
    run, port = Run(tmp_path, lines=2000), free_port()
    with run.started("--port", str(port)) as process:
        run.await_runs(20)
        os.kill(run.process("web"), signal.SIGKILL)
        run.until(lambda: "web node was killed" in run.text())
        with socket.create_server(("127.0.0.1", port)):
            assert process.wait(100) == 1
    assert "the web node died 6 times, and nothing gets done" in run.text()
    assert "Address already in use" in run.text()
