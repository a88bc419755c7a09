"""`./dev run` never stands still without saying why, goes on when the cause has gone, and gives up in the end."""

import os
import re
import resource
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.dev.test_main_job import Run
from tests.dev.with_server import environment
from tests.servers import PostgresServer, free_port

pytestmark = pytest.mark.timeout(240)
LINES = 270
"""As many as have no order whose job fails for good."""
STANDS_STILL = "nothing has been done for "


def with_room_for(size: int, run: Run, runner: int) -> None:
    """Files of a run grow up to so many bytes: anyone may set this limit, which is as hard as a full disk."""
    for process in (runner, run.process("web"), run.process("worker")):
        resource.prlimit(process, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def done(run: Run, process: subprocess.Popen[str]) -> None:
    """It ends by itself, and each order has its receipt."""
    assert process.wait(200) == 0, run.text()
    assert "WRONG" not in run.text()
    assert run.receipts() == run.orders()


def fill_the_disk_for_a_while(run: Run, runner: int) -> None:
    run.await_runs(20)
    with_room_for(1, run, runner)
    run.until(lambda: f"{run.folder} cannot be written to: File too large" in run.text())
    with_room_for(resource.RLIM_INFINITY, run, runner)
    run.await_runs(run.runs().total() + 10)


def test_a_disk_without_room_and_a_node_that_cannot_go_on_are_told_and_the_run_goes_on_when_it_can(tmp_path: Path):
    run = Run(tmp_path, LINES)
    with run.started() as process:
        fill_the_disk_for_a_while(run, process.pid)
        assert "the web node answers 503: the shop is closed for the moment" in run.text()
        worker, told = run.process("worker"), run.text().count(STANDS_STILL)
        os.kill(worker, signal.SIGSTOP)
        run.until(lambda: run.text().count(STANDS_STILL) > told)
        os.kill(worker, signal.SIGCONT)
        done(run, process)


def test_jobs_wait_and_do_not_die_without_room_for_receipts_or_while_their_store_is_away(tmp_path: Path):
    run = Run(tmp_path, LINES)
    with (
        PostgresServer() as server,
        server.database() as url,
        run.started(environment=environment("postgres", url)) as process,
    ):
        fill_the_disk_for_a_while(run, process.pid)
        server.kill()
        run.until(lambda: "  db is unavailable: postgresql" in run.text())
        server.start()
        done(run, process)


def test_a_run_that_stands_still_for_too_long_is_given_up_and_can_be_resumed(tmp_path: Path):
    run = Run(tmp_path, lines=100)
    with run.started("--patience", "12") as process:
        run.await_runs(20)
        with_room_for(1, run, process.pid)
        assert process.wait(100) == 1, run.text()
    assert run.said[-1] == "given up; what was done is kept"
    assert "resuming" in run.finish()
    assert run.receipts() == run.orders()


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
    assert re.search(r"the web node died \d+ times, and nothing gets done", run.text())  # jobs that end meanwhile count
    assert "Address already in use" in run.text()
