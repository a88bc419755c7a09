"""What `./dev run` starts: every order ends as it should, whoever is killed meanwhile."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from examples.postcards.orders import Order, Unusable, read_orders

ROOT = Path(__file__).resolve().parents[2]
ORDERS = ROOT / "examples" / "data" / "postcards.csv"
AWKWARD = {"P00058": 3, "P00234": 3, "P00405": 1, "P00778": 3, "P01204": 1}
"""How often the orders run that are awkward on purpose, where nothing is killed."""


class Run:
    """One run of the example in a folder of its own, over the first lines of the customers' file."""

    def __init__(self, folder: Path, lines: int) -> None:
        self.folder = folder / "out"
        self.said: list[str] = []
        self._orders = folder / "orders.csv"
        with ORDERS.open(encoding="utf-8", newline="") as whole:
            self._orders.write_text("".join(islice(whole, lines)), encoding="utf-8", newline="")

    def command(self) -> Sequence[str]:
        return [sys.executable, "-m", "examples.postcards", "--orders", str(self._orders), "--folder", str(self.folder)]

    @contextmanager
    def started(self, environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
        self.said.clear()
        environment = {**os.environ, **(environment or {}), "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            self.command(), cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdout is not None
        reader = threading.Thread(target=self._read, args=(process.stdout,))
        reader.start()
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(60)
            reader.join(30)
            process.stdout.close()

    def _read(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.said.append(line.rstrip("\n"))

    def finish(self, environment: dict[str, str] | None = None) -> str:
        with self.started(environment) as process:
            assert process.wait(100) == 0, self.text()
        return self.text()

    def text(self) -> str:
        return "\n".join(self.said)

    def worker(self) -> int:
        """The process of the worker node that started last."""
        return int(re.findall(r"worker node started(?: again)?, process (\d+)", self.text())[-1])

    def runs(self) -> Counter[str]:
        log = self.folder / "runs.log"
        return Counter(line.split()[0] for line in log.read_text().splitlines()) if log.exists() else Counter()

    def await_runs(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while self.runs().total() < count:
            assert time.monotonic() < deadline, self.text()
            time.sleep(0.02)

    def orders(self) -> set[str]:
        return {row.order for row in read_orders(self._orders) if isinstance(row, Order)}

    def cards(self) -> set[str]:
        return {path.stem for path in (self.folder / "cards").glob("*.txt")}


@pytest.fixture
def short(tmp_path: Path) -> Run:
    return Run(tmp_path, lines=1300)


def test_every_order_ends_as_it_should_and_the_summary_says_so(short: Run):
    said = short.finish()
    assert short.orders() - short.cards() == {"P00405", "P00778", "P01204"}
    assert {order: times for order, times in short.runs().items() if times != 1} | {"P00405": 1, "P01204": 1} == AWKWARD
    assert "2 not readable as an order\n" in said
    assert "line 103 has 3 columns instead of 6\n" in said
    assert "line 1005 has no order\n" in said
    assert "\n\nrows " in said
    assert "\n\n\n" not in said
    assert max(len(line) for line in said.splitlines() if "/" not in line) <= 80
    assert "-wal" not in said
    assert "2 kept as dead letters" in said
    assert "no-such-country: no post goes to Atlantis (XA)" in said
    assert "handler-error: the message takes" in said
    assert "\x1b" not in said


def test_a_postcard_keeps_its_text(short: Run):
    short.finish()
    card = (short.folder / "cards" / "P00010.txt").read_text(encoding="utf-8")
    assert card.splitlines()[0] == "family emoji, and e\u0301 as two characters"
    assert "Zoë 👩‍👩‍👧‍👦 Müller" in card
    assert (short.folder / "cards" / "P00005.txt").read_text().splitlines()[:2] == [
        'She said: "two, no three, postcards"',
        "and left.",
    ]


@pytest.mark.fault(2, 17)
def test_killing_the_worker_node_twice_loses_nothing(short: Run):
    with short.started() as process:
        for count in (200, 600):
            short.await_runs(count)
            os.kill(short.worker(), signal.SIGKILL)
        assert process.wait(100) == 0, short.text()
    assert short.text().count("worker node was killed by SIGKILL") == 2
    assert short.orders() - short.cards() == {"P00405", "P00778", "P01204"}


def test_an_interrupted_run_is_resumed(short: Run):
    with short.started() as process:
        short.await_runs(200)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert "stopped; what was done is kept" in short.text()
    done = short.runs().total()
    said = short.finish()
    assert "resuming the run that was interrupted" in said
    assert short.runs().total() > done
    assert short.orders() - short.cards() == {"P00405", "P00778", "P01204"}
    assert {order: times for order, times in short.runs().items() if times != 1} | {"P00405": 1, "P01204": 1} == AWKWARD


def test_a_run_whose_database_is_gone_is_not_counted_in_with_the_next(short: Run, postgres_url: str):
    with short.started({"WAGOE_JOBS__DB__URL": postgres_url}) as process:
        short.await_runs(200)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert "goes on from there" not in short.text()
    said = short.finish()
    assert "resuming" not in said
    assert {order: times for order, times in short.runs().items() if times != 1} | {"P00405": 1, "P01204": 1} == AWKWARD


def test_beginning_anew_leaves_alone_what_no_run_made(tmp_path: Path):
    run = Run(tmp_path, lines=20)
    run.folder.mkdir()
    (run.folder / "thesis.txt").write_text("mine")
    run.finish()
    run.finish()
    assert (run.folder / "thesis.txt").read_text() == "mine"
    assert set(run.runs().values()) == {1}


def test_a_runner_that_is_killed_takes_its_nodes_along(short: Run):
    with short.started() as process:
        short.await_runs(100)
        worker = short.worker()
        process.kill()
        process.wait()
        deadline = time.monotonic() + 30
        while Path(f"/proc/{worker}/stat").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert "resuming" in short.finish()


def test_after_a_finished_run_everything_begins_anew(tmp_path: Path):
    run = Run(tmp_path, lines=40)
    run.finish()
    said = run.finish()
    assert "resuming" not in said
    assert run.runs().total() == 38


def test_it_runs_on_postgresql(tmp_path: Path, postgres_url: str):
    run = Run(tmp_path, lines=300)
    said = run.finish({"WAGOE_JOBS__DB__URL": postgres_url})
    assert not (run.folder / "jobs.sqlite").exists()
    assert "1 not readable as an order" in said
    assert run.orders() == run.cards()


def test_settings_that_cannot_be_used_are_told_in_one_line(tmp_path: Path):
    run = Run(tmp_path, lines=10)
    with run.started({"WAGOE_JOBS__WORKERS__CUONT": "1"}) as process:
        assert process.wait(60) == 2
    assert run.said == ["WAGOE_JOBS__WORKERS__CUONT: is no setting: did you mean WAGOE_JOBS__WORKERS__COUNT?"]


def test_a_node_that_dies_in_vain_is_given_up_with_its_last_words(tmp_path: Path):
    run = Run(tmp_path, lines=0)
    with run.started() as process:
        assert process.wait(90) == 1
    assert "the web node died 5 times in vain" in run.text()
    assert "orders.csv must begin with the row order,name,town,country,paper,message" in run.text()


def test_the_customers_file_says_which_rows_it_cannot_use():
    rows = list(read_orders(ORDERS))
    assert sum(isinstance(row, Order) for row in rows) == 3001
    assert [row.reason for row in rows if isinstance(row, Unusable)] == [
        "has 3 columns instead of 6",
        "has no order",
        "has 7 columns instead of 6",
        "has no name",
    ]
