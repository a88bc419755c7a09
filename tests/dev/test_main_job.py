"""What `./dev run` starts: every order ends as it should, whoever is killed meanwhile."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from itertools import islice
from pathlib import Path

import httpx
import pytest

from examples.shop.feed import Malformed, Read, read_orders
from examples.shop.made_up import made_up
from examples.shop.nodes import tied_to_us
from tests.dev.with_server import KINDS, environment

ROOT = Path(__file__).resolve().parents[2]
ORDERS = ROOT / "examples" / "data" / "orders.csv"
LINES = 460
REFUSED = {"A00120", "A00333", "A00334", "A00335", "A00240"}
DEAD = {"A00405", "A00278"}
AWKWARD = {"A00058": 3, "A00405": 1, "A00278": 4, "A00205": 3}
"""How often receipts run that are awkward on purpose, where nothing is killed."""
pytestmark = pytest.mark.timeout(240)


class Run:
    """One run of the shop in a folder of its own, over the first lines of the customers' file."""

    def __init__(self, folder: Path, lines: int = LINES) -> None:
        self.folder = folder / "out"
        self.said: list[str] = []
        self.file = folder / "orders.csv"
        with ORDERS.open("rb") as whole:
            self.file.write_bytes(b"".join(islice(whole, lines)))

    def command(self, *options: str) -> Sequence[str]:
        files = ["--orders", str(self.file), "--folder", str(self.folder)]
        return [sys.executable, "-m", "examples.shop", *files, *options]

    @contextmanager
    def started(self, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
        self.said.clear()
        process = subprocess.Popen(
            self.command(*options),
            cwd=ROOT,
            env={**os.environ, **(environment or {}), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
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

    def finish(self, *options: str, environment: Mapping[str, str] | None = None) -> str:
        with self.started(*options, environment=environment) as process:
            assert process.wait(200) == 0, self.text()
        return self.text()

    def text(self) -> str:
        return "\n".join(self.said)

    def process(self, node: str) -> int:
        """The process of the node that started last."""
        return int(re.findall(rf"{node} node started(?: again)?, process (\d+)", self.text())[-1])

    def runs(self) -> Counter[str]:
        log = self.folder / "runs.log"
        return Counter(line.split()[0] for line in log.read_text().splitlines()) if log.exists() else Counter()

    def await_runs(self, count: int) -> None:
        self.until(lambda: self.runs().total() >= count)

    def until(self, true: Callable[[], object]) -> None:
        deadline = time.monotonic() + 100
        while not true():
            assert time.monotonic() < deadline, self.text()
            time.sleep(0.02)

    def orders(self) -> set[str]:
        """The numbers that the shop takes."""
        numbers = {str(row.order["order"]) for row in read_orders(self.file) if isinstance(row, Read)}
        return numbers - REFUSED

    def receipts(self) -> set[str]:
        return {path.stem for path in (self.folder / "receipts").glob("*.eml")}

    def receipt(self, number: str) -> EmailMessage:
        mail = message_from_bytes((self.folder / "receipts" / f"{number}.eml").read_bytes(), policy=default)
        assert isinstance(mail, EmailMessage)
        return mail


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run to which nothing happened."""
    run = Run(tmp_path_factory.mktemp("shop"))
    run.finish()
    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def assert_complete(run: Run) -> None:
    """Every order has its receipt, but those for which it failed for good."""
    assert run.orders() - run.receipts() == DEAD
    assert run.receipts() <= run.orders()
    assert {number for number, times in AWKWARD.items() if run.runs()[number] < times} == set()
    assert "WRONG" not in run.text()


def test_every_order_ends_as_it_should(done: Run):
    assert_complete(done)
    assert {number: times for number, times in done.runs().items() if times != 1} | {"A00405": 1} == AWKWARD
    assert {path.name for path in (done.folder / "reports" / "sales").iterdir()} == {
        "index.html",
        "sales.csv",
        "sales.png",
    }


def test_the_summary_says_so(done: Run):
    said = done.text()
    assert f"{len(done.orders()):6,} taken, 1 sent again and not doubled\n" in said
    assert "6 by the web node\n" in said
    assert "line 104 has 4 columns instead of 8\n" in said
    assert "line 105 has no number in 'SIEVE*two': write CODE*2\n" in said
    assert "line 306 is not UTF-8, at byte 8\n" in said
    assert "line 121 A00120 422: postcode: '28O1 AB' is none of NL\n" in said
    assert "line 334 A00333 422: articles: there is no MUG-BLEU: did you mean MUG-BLUE?\n" in said
    assert "line 391 A00041 409: another order has the number A00041\n" in said
    assert "2 jobs kept as dead letters\n" in said
    assert "no-carrier: no carrier goes to XA" in said
    assert "handler-error: the street takes 144 characters, a label has 100" in said
    assert "jobs/s" in said
    assert "\n\n\n" not in said
    assert "\x1b" not in said


def test_a_receipt_keeps_its_names_and_is_a_mail_that_can_be_read(done: Run):
    mail = done.receipt("A00010")
    assert mail["To"] == "Zoë 👩‍👩‍👧‍👦 Mu\u0308ller <zoe@example.org>"
    assert "Zoë 👩‍👩‍👧‍👦 Mu\u0308ller" in mail.get_content()
    assert "  1 x Mint, 50 g                 4,20 EUR" in mail.get_content().splitlines()
    assert done.receipt("A00020")["To"].addresses[0].display_name == "\u202bאבג\u202c 123 (Ltd.)"
    assert done.receipt("A00030")["To"].addresses[0].display_name == 'Bobby "; DROP TABLE'


def test_the_report_adds_up(done: Run):
    report = done.folder / "reports" / "sales"
    rows = [line.rsplit(",", 3) for line in (report / "sales.csv").read_text().splitlines()[1:]]
    mails = [done.receipt(number).get_content() for number in done.receipts()]
    sold = sum(int(units) for _, units, _, _ in rows)
    on_receipts = sum(int(count) for mail in mails for count in re.findall(r"^ *(\d+) x ", mail, re.M))
    of_the_dead = 1 + 2 + 1
    assert sold == on_receipts + of_the_dead
    assert (report / "sales.png").read_bytes().startswith(b"\x89PNG")
    assert f"{len(done.orders())} orders" in (report / "index.html").read_text()


def test_what_was_refused_left_nothing_behind(done: Run):
    assert set(done.runs()) == done.orders()


@pytest.mark.fault(2, 17)
def test_killing_the_worker_node_twice_loses_nothing(run: Run):
    with run.started() as process:
        for count in (100, 300):
            run.await_runs(count)
            os.kill(run.process("worker"), signal.SIGKILL)
            run.until(lambda count=count: run.text().count("worker node started again") == (1 if count == 100 else 2))
        assert process.wait(200) == 0, run.text()
    assert run.text().count("worker node was killed by SIGKILL") == 2
    assert_complete(run)


def test_killing_the_web_node_loses_and_doubles_nothing(run: Run):
    with run.started() as process:
        run.await_runs(100)
        os.kill(run.process("web"), signal.SIGKILL)
        assert process.wait(200) == 0, run.text()
    assert "web node was killed by SIGKILL" in run.text()
    assert_complete(run)


def test_an_interrupted_run_is_resumed(run: Run):
    with run.started() as process:
        run.await_runs(100)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert "stopped; what was done is kept" in run.text()
    ended = run.runs().total()
    said = run.finish()
    assert "resuming the run that was interrupted" in said
    assert run.runs().total() > ended
    assert_complete(run)
    assert {number: times for number, times in run.runs().items() if times != 1} | {"A00405": 1} == AWKWARD


def importing(run: Run, process: int) -> bool:
    return "pydantic_core" in Path(f"/proc/{process}/maps").read_text()


MOMENTS: Mapping[str, Callable[[Run, int], bool]] = {
    "it is imported": importing,
    "its folder is made": lambda run, _: run.folder.exists(),
    "the nodes start": lambda run, _: "web node started" in run.text(),
    "the first receipts are written": lambda run, _: run.runs().total() > 0,
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupt_at_any_moment_ends_without_a_trace(run: Run, moment: str):
    with run.started() as process:
        run.until(lambda: MOMENTS[moment](run, process.pid))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert "Traceback" not in run.text()
    assert run.finish()
    assert_complete(run)


def test_a_run_whose_database_is_gone_is_not_counted_in_with_the_next(run: Run, postgres_url: str):
    with run.started(environment={"WAGOE_JOBS__DB__URL": postgres_url}) as process:
        run.await_runs(100)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert "goes on from there" not in run.text()
    said = run.finish()
    assert "resuming" not in said
    assert {number: times for number, times in run.runs().items() if times != 1} | {"A00405": 1} == AWKWARD


def test_a_database_with_an_earlier_run_in_it_is_refused(tmp_path: Path, postgres_url: str):
    run = Run(tmp_path, lines=5)
    said = run.finish(environment={"WAGOE_JOBS__DB__URL": postgres_url})
    assert "a throw-away store is gone by then: with --stay it stays up" in said
    with run.started(environment={"WAGOE_JOBS__DB__URL": postgres_url}) as process:
        assert process.wait(60) == 2
    assert "jobs.db.url: holds orders of an earlier run" in run.text()


def test_beginning_anew_leaves_alone_what_no_run_made(tmp_path: Path):
    run = Run(tmp_path, lines=20)
    run.folder.mkdir()
    (run.folder / "thesis.txt").write_text("mine")
    run.finish()
    said = run.finish()
    assert "resuming" not in said
    assert "throw-away" not in said
    assert (run.folder / "thesis.txt").read_text() == "mine"
    assert set(run.runs().values()) == {1}


def test_a_runner_that_is_killed_takes_its_nodes_along(run: Run):
    with run.started() as process:
        run.await_runs(100)
        nodes = [run.process("worker"), run.process("web")]
        process.kill()
        process.wait()
        run.until(lambda: not any(Path(f"/proc/{node}/stat").exists() for node in nodes))
    assert "resuming" in run.finish()
    assert_complete(run)


def test_a_missing_receipt_is_found_out(tmp_path: Path):
    run = Run(tmp_path, lines=60)
    with run.started() as process:
        run.until(lambda: run.receipts() >= {"A00001", "A00002"})
        (run.folder / "receipts" / "A00001.eml").unlink()
        (run.folder / "receipts" / "A99999.eml").touch()
        assert process.wait(100) == 1
    assert "WRONG: no receipt, and no dead letter either: A00001\n" in run.text()
    assert "WRONG: a receipt that should not be there: A99999\n" in run.text()


def test_both_nodes_stay_up_when_asked_to_and_what_is_to_be_tried_works(tmp_path: Path):
    run = Run(tmp_path, lines=410)
    with run.started("--stay") as process:
        run.until(lambda: "curl " in run.text())
        (url,) = re.findall(r"curl (\S+/orders/A00405)$", run.text(), re.M)
        (dead,) = re.findall(r"^ {14}(\S{36}) A00405$", run.text(), re.M)
        assert httpx.get(url).json()["jobs"]["write-receipt"] == {"id": dead, "status": "failed"}
        assert "no-carrier" in typed(re.findall(r"^look at them +(.*)$", run.text(), re.M)[0])
        typed(re.findall(r"^  (echo .*)$", run.text(), re.M)[0])
        typed(re.findall(r"^try again +(.*)$", run.text(), re.M)[0].replace(" ID ", f" {dead} "))
        run.until(lambda: httpx.get(url).json()["jobs"]["write-receipt"]["status"] == "completed")
        assert "Atlantis" in run.receipt("A00405").get_content()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert not Path(f"/proc/{run.process('worker')}").exists()


def typed(command: str) -> str:
    """What a command says that the runner tells."""
    return subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.fault(2, 17)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_killing_the_worker_node_loses_nothing_with_the_jobs_on_a_server(tmp_path: Path, kind: str):
    run = Run(tmp_path, lines=460)
    with KINDS[kind]() as server, server.database() as url:
        with run.started(environment=environment(kind, url)) as process:
            run.await_runs(100)
            os.kill(run.process("worker"), signal.SIGKILL)
            assert process.wait(200) == 0, run.text()
        assert (run.folder / "shop.sqlite").exists() == (kind == "redis")
    assert "worker node was killed by SIGKILL" in run.text()
    assert_complete(run)


def test_settings_that_cannot_be_used_are_told_in_one_line(tmp_path: Path):
    run = Run(tmp_path, lines=10)
    with run.started(environment={"WAGOE_JOBS__WORKERS__CUONT": "1"}) as process:
        assert process.wait(60) == 2
    assert run.said == ["WAGOE_JOBS__WORKERS__CUONT: is no setting: did you mean WAGOE_JOBS__WORKERS__COUNT?"]


def test_a_file_without_its_columns_is_refused(tmp_path: Path):
    run = Run(tmp_path, lines=0)
    with run.started() as process:
        assert process.wait(60) == 1
    assert "the orders cannot be sent: " in run.text()
    assert "must be UTF-8 and begin with the line order,name,email,street,postcode,town,country,articles" in run.text()


def test_a_file_that_is_not_there_is_told_in_one_line(tmp_path: Path):
    run = Run(tmp_path, lines=1)
    run.file.unlink()
    with run.started() as process:
        assert process.wait(60) == 2
    assert run.said[-1] == f"[Errno 2] No such file or directory: '{run.file}'"
    assert "Traceback" not in run.text()


def test_a_file_as_spreadsheets_write_it_is_read(tmp_path: Path):
    with ORDERS.open("rb") as whole:
        lines = list(islice(whole, 5))
    (tmp_path / "plain.csv").write_bytes(b"".join(lines))
    (tmp_path / "sheet.csv").write_bytes(b"\xef\xbb\xbf" + b"".join(line.replace(b"\n", b"\r\n") for line in lines))
    assert list(read_orders(tmp_path / "sheet.csv")) == list(read_orders(tmp_path / "plain.csv"))


@pytest.mark.parametrize("name", ["a folder", "50% of #1?"])
def test_a_folder_of_any_name_will_do_and_what_is_to_be_typed_works(tmp_path: Path, name: str):
    (tmp_path / name).mkdir()
    run = Run(tmp_path / name, lines=3)
    run.finish()
    assert run.receipts() == {"A00001", "A00002"}
    assert "there are no dead letters" in typed(re.findall(r"^look at them +(.*)$", run.text(), re.M)[0])


def test_a_second_run_in_a_folder_waits_for_the_end_of_the_first(tmp_path: Path):
    first, second = Run(tmp_path, lines=200), Run(tmp_path, lines=200)
    with first.started() as one:
        first.await_runs(20)
        with second.started("--fresh") as other:
            second.until(lambda: "waiting for another run to end" in second.text())
            one.send_signal(signal.SIGINT)
            assert one.wait(60) == 130
            assert other.wait(100) == 0, second.text()
    assert second.orders() == second.receipts()


def test_interrupts_again_and_again_leave_no_node_behind(run: Run):
    with run.started() as process:
        run.await_runs(50)
        for node in ("web", "worker"):
            os.kill(run.process(node), signal.SIGSTOP)
        ended = time.monotonic() + 15
        while process.poll() is None and time.monotonic() < ended:
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        assert process.poll() in (130, -signal.SIGINT)
    assert not any(Path(f"/proc/{run.process(node)}").exists() for node in ("web", "worker"))
    assert "Traceback" not in run.text()


def test_a_node_that_finds_its_runner_gone_does_not_start(tmp_path: Path):
    """It may have died before the system was asked to tell."""
    started = tmp_path / "started"
    orphan = ["sh", "-c", '"$@" & wait', "another parent", *tied_to_us(), "touch", str(started)]
    subprocess.run(orphan, check=True, timeout=20)
    assert not started.exists()
    assert subprocess.run([*tied_to_us(), "touch", str(started)], check=True, timeout=20)
    assert started.exists()


def test_a_run_ends_with_the_process_that_has_its_server(tmp_path: Path):
    run = Run(tmp_path)
    command = [sys.executable, "-m", "tests.dev.with_server", "redis", *run.command()[1:]]
    run.command = lambda *options: command  # type: ignore[method-assign]
    with run.started() as process:
        run.await_runs(20)
        nodes = [run.process("worker"), run.process("web")]
        process.kill()
        run.until(lambda: not any(Path(f"/proc/{node}").exists() for node in nodes))
    assert "stopped" in run.text()


def test_the_customers_file_is_what_its_script_makes():
    assert b"".join(made_up()) == ORDERS.read_bytes()


def test_the_customers_file_says_which_lines_are_no_order():
    assert [(row.line, row.reason) for row in read_orders(ORDERS) if isinstance(row, Malformed)] == [
        (104, "has 4 columns instead of 8"),
        (105, "has no number in 'SIEVE*two': write CODE*2"),
        (106, "has 10 columns instead of 8"),
        (306, "is not UTF-8, at byte 8"),
        (307, "unexpected end of data"),
        (308, "has a zero byte"),
        (2351, "is empty"),
    ]
