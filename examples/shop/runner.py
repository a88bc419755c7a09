"""Runs the shop: starts the web node and the worker node, sends the orders, watches over both, adds up. `./dev run`.

A run that was interrupted is resumed: what is sent again was taken before, and what was running is run again once
its lease has ended. After a finished run, or with --fresh, everything begins anew.
"""

import argparse
import os
import shlex
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import FrameType

from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from containers.app import node_settings
from examples.shop.begin import alone, is_new, prepared, store_of
from examples.shop.carrier import ALSO
from examples.shop.database import Database, open_database
from examples.shop.feed import Feeder
from examples.shop.nodes import Node, how_it_ended
from examples.shop.places import FOLDER, Places, near
from examples.shop.progress import Show
from examples.shop.receipts import NO_CARRIER
from examples.shop.standstill import GaveUp, Standstill
from examples.shop.summary import REPORT, Course, add_up, dead_letters
from wagoe_jobs.errors import BackendUnavailable, JobsError, SettingsError
from wagoe_jobs.ports import Runtime, StatsTotals
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import Settings

LOOK_SECONDS = 0.2
DEATHS_IN_VAIN = 5
LONG_ENOUGH = 10.0
"""A node that has lived for so many seconds did not die in vain."""
PATIENCE_SECONDS = 20.0
INTERRUPTED = 130
USUAL = "out/shop"
URL_NAME = "WAGOE_JOBS__DB__URL"
LENT = (URL_NAME, "WAGOE_JOBS__REDIS__URL")
STOPPED = "stopped; what was done is kept, and ./dev run goes on from there"
STOPPED_LENT = "stopped; the jobs are kept as long as their store is: a throw-away one is gone"


class Shop:
    """One run: its two nodes, its place, its view."""

    def __init__(self, places: Places, options: argparse.Namespace, show: Show, lock: int) -> None:
        port = _free_port(options.port)
        self.places = places
        self.orders: Path = options.orders
        self.show = show
        self.url = f"http://127.0.0.1:{port}"
        self.web = Node("web", ["-m", "examples.shop.web", "--port", str(port)], places.log("web"), lock)
        worker = ["-m", "wagoe_jobs.cli", "worker", "-a", "containers.worker:container"]
        self.worker = Node("worker", worker, places.log("worker"), lock)
        self._standstill = Standstill(places, (self.web, self.worker), show, options.patience)
        self._in_vain = self._progress = self._ended = 0

    @contextmanager
    def open(self) -> Iterator[None]:
        """Both nodes run inside; they are stopped at its end, however that comes."""
        try:
            for node in (self.worker, self.web):
                node.start()
                log = near(self.places.log(node.name))
                self.show.say(f"{node.name} node started, process {node.pid}, log {log}")
            yield
            self.web.stop(PATIENCE_SECONDS)
            code = self.worker.stop(PATIENCE_SECONDS)
            if code:
                raise GaveUp(f"the worker node {how_it_ended(code)} when it was stopped:\n{self.worker.last_words()}")
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        """Both nodes, also when another interrupt comes meanwhile."""
        try:
            for node in (self.web, self.worker):
                node.stop(PATIENCE_SECONDS)
        finally:
            for node in (self.web, self.worker):
                node.end()

    def work(self, runtime: Runtime) -> Course:
        """Send every order, ask for the report, and wait until no job is left."""
        lines = self.orders.read_bytes().count(b"\n") - 1
        before = self._ended = runtime.stats.job_stats().processed
        began = time.monotonic()
        asked = False
        with self.show, Feeder(self.orders, self.url) as feeder:
            while True:
                asked = asked or _asked(feeder)
                stats = self._looked(runtime, feeder, lines)
                if stats is not None and asked and not _left(stats):
                    break
                time.sleep(LOOK_SECONDS)
        seconds = time.monotonic() - began
        return Course(feeder.fed, self._ended - before, seconds, self.web.deaths + self.worker.deaths)

    def _looked(self, runtime: Runtime, feeder: Feeder, lines: int) -> StatsTotals | None:
        """The present counts, None while the store does not tell; nodes that died are started again. Raises GaveUp."""
        sent, trouble, stats = feeder.fed.lines, feeder.trouble, None
        try:
            stats = runtime.stats.job_stats()
            self.show.update(stats, sent=sent, lines=max(lines, sent))
            self._ended = stats.processed
        except BackendUnavailable as error:
            trouble = str(error)
        self.look_after(sent + self._ended)
        self._standstill.look(sent + self._ended, trouble)
        return stats

    def look_after(self, progress: int) -> None:
        """Start again a node that has died. Raises GaveUp when that happens again and again without progress."""
        if progress > self._progress:
            self._in_vain, self._progress = 0, progress
        self._in_vain += self._looked_after(self.worker) + self._looked_after(self.web)
        if self._in_vain >= DEATHS_IN_VAIN:
            node = max(self.web, self.worker, key=lambda node: node.deaths)
            raise GaveUp(
                f"the {node.name} node died {node.deaths} times, and nothing gets done. Its last words:\n"
                f"{node.last_words()}"
            )

    def _looked_after(self, node: Node) -> int:
        """How many deaths were seen, 0 or 1."""
        code = node.ended()
        if code is None:
            if node.start_if_due():
                self.show.say(f"{node.name} node started again, process {node.pid}")
            return 0
        if node.lived > LONG_ENOUGH:
            self._in_vain = 0
        pause = node.start_later()
        self.show.say(f"{node.name} node {how_it_ended(code)}: starting it again in {pause:.1f} s")
        if code > 0:
            self.show.say(node.last_words(3))
        return 1

    def stay(self, runtime: Runtime) -> None:
        """Keep both nodes up until an interrupt, and say what can be tried."""
        self.show.say(f"\nboth nodes stay up; Ctrl-C ends them. Try:\n{self._to_try(runtime)}")
        while True:
            time.sleep(LOOK_SECONDS)
            self.look_after(0)

    def _to_try(self, runtime: Runtime) -> str:
        tries = [f"curl {self.url}/"]
        for job in dead_letters(runtime):
            if job.error is not None and job.error.type == NO_CARRIER and isinstance(job.args, dict):
                file = shlex.quote(str(near(self.places.carrier / ALSO)))
                tries += [
                    f"curl {self.url}/orders/{job.args['order']}",
                    f"echo XA >>{file}   # a carrier is found: try again",
                ]
                break
        return "\n".join(f"  {one}" for one in tries)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    places = Places(options.folder.resolve())
    os.environ[FOLDER] = str(places.root)
    lent = any(name in os.environ for name in LENT)
    if not lent:
        os.environ[URL_NAME] = URL.create("sqlite", database=str(places.database)).render_as_string()
    signal.signal(signal.SIGTERM, _as_interrupt)
    if isinstance(sys.stdout, TextIOWrapper):  # whatever it is called, no order shall be what ends the run
        sys.stdout.reconfigure(errors="backslashreplace")
    show = Show()
    try:
        with alone(places, show.say) as lock:
            return _run(options, places, show, lent, lock)
    except KeyboardInterrupt:
        show.say(STOPPED_LENT if lent else STOPPED)
        return INTERRUPTED
    except GaveUp as reason:
        show.say(str(reason))
        return 1
    except (JobsError, SQLAlchemyError, OSError) as error:
        show.say(str(error))
        return 2


def _run(options: argparse.Namespace, places: Places, show: Show, lent: bool, lock: int) -> int:
    settings = node_settings("web")
    resumed = prepared(places, store_of(settings), fresh=options.fresh)
    shop = Shop(places, options, show, lock)
    with open_runtime(settings) as runtime, _opened(settings, places) as database:
        if resumed:
            show.say("resuming the run that was interrupted; --fresh begins anew")
        elif not is_new(database):
            raise SettingsError("jobs.db.url", "holds orders of an earlier run, whose files are gone: give another one")
        with shop.open():
            course = shop.work(runtime)
            correct = add_up(runtime, database, places, course, show)
            places.finished.touch()
            _say_how_to_look(_prefix(lent=lent), show)
            if lent and not options.stay:
                show.say("              a throw-away store is gone by then: with --stay it stays up")
            if options.stay:
                shop.stay(runtime)
    return 0 if correct else 1


@contextmanager
def _opened(settings: Settings, places: Places) -> Iterator[Database]:
    yield from open_database(settings, places)


def _asked(feeder: Feeder) -> bool:
    """Whether every line was sent, and the report asked for."""
    try:
        return feeder.done and feeder.ask_for_report(REPORT)
    except (OSError, RuntimeError, ValueError) as error:
        raise GaveUp(f"the orders cannot be sent: {error}") from error


def _left(stats: StatsTotals) -> int:
    return sum(queue.to_do for queue in stats.queues)


def _say_how_to_look(prefix: str, show: Show) -> None:
    """The commands for dead letters, as they can be typed here."""
    script = prefix + shlex.quote(str(near(Path(sys.executable).with_name("wagoe-jobs"))))
    place = "-a containers.web:container"
    show.say(f"look at them  {script} failed list {place}")
    show.say(f"try again     {script} failed retry ID {place}")


def _prefix(*, lent: bool) -> str:
    """What has to stand before a command, so that it finds this run; nothing for one in the usual place."""
    if not lent and os.environ[FOLDER] == str(Path(USUAL).resolve()):
        return ""
    told = {name: os.environ[name] for name in (FOLDER, "WAGOE_JOBS__PROVIDER", *LENT) if name in os.environ}
    for name in LENT:
        if name in told:
            told[name] = make_url(told[name]).render_as_string(hide_password=True)
    return "".join(f"{name}={shlex.quote(value)} " for name, value in told.items())


def _free_port(wanted: int) -> int:
    """This one, or any if it is 0. Raises SettingsError when another program has it: that must not get our orders."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the web node does
        try:
            probe.bind(("127.0.0.1", wanted))
        except (OSError, OverflowError) as error:
            raise SettingsError("--port", f"{wanted} cannot be used: {error}") from None
        port: int = probe.getsockname()[1]
        return port


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev run", description="Run the shop.")
    parser.add_argument("--orders", type=Path, default=Path("examples/data/orders.csv"), help="the customers' file")
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get(FOLDER, USUAL)))
    parser.add_argument("--port", type=int, default=0, help="of the web node; any free one unless it is given")
    parser.add_argument("--patience", type=float, default=180.0, help="seconds without anything done until it gives up")
    parser.add_argument("--fresh", action="store_true", help="do not resume an interrupted run")
    parser.add_argument("--stay", action="store_true", help="keep both nodes up afterwards, to try things out")
    return parser.parse_args(arguments)


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
