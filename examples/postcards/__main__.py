"""Runs the print shop: starts the web node and the worker node, watches over them, adds up. `./dev run`.

A run that was interrupted is resumed: what is enqueued again is a duplicate, and what was running is run
again once its lease has ended. After a finished run, or with --fresh, everything begins anew.
"""

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from sqlalchemy import URL

from containers.app import node_settings
from examples.postcards.nodes import Node, how_it_ended
from examples.postcards.places import FOLDER, Places, near
from examples.postcards.progress import Show
from examples.postcards.summary import add_up
from wagoe_jobs.errors import BackendUnavailable, JobsError
from wagoe_jobs.ports import Runtime, StatsTotals
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import JobsSettings

LOOK_SECONDS = 0.2
DEATHS_IN_VAIN = 5
PATIENCE_SECONDS = 20.0
INTERRUPTED = 130
DATABASE = "WAGOE_JOBS__DB__URL"
STOPPED = "stopped; what was done is kept, and ./dev run goes on from there"
STOPPED_LENT = "stopped; the jobs are kept as long as their database is: a throw-away one is gone"


class GaveUp(Exception):
    """A node dies again and again, and nothing gets done meanwhile."""


def main() -> int:
    options = _options()
    places = Places(options.folder.resolve())
    lent = DATABASE in os.environ
    resumed = _prepared(places, fresh=options.fresh, lent=lent)
    os.environ[FOLDER] = str(places.root)
    os.environ.setdefault(DATABASE, URL.create("sqlite", database=str(places.database)).render_as_string())
    signal.signal(signal.SIGTERM, _as_interrupt)
    show = Show(resumed=resumed)
    began = time.monotonic()
    try:
        with open_runtime(_jobs_settings()) as runtime:
            restarts = _run(runtime, places, options.orders, show)
            correct = add_up(runtime, places, show, restarts=restarts, seconds=time.monotonic() - began)
    except KeyboardInterrupt:
        show.say(STOPPED_LENT if lent else STOPPED)
        return INTERRUPTED
    except GaveUp as reason:
        show.say(str(reason))
        return 1
    except JobsError as error:
        show.say(str(error))
        return 2
    places.finished.touch()
    return 0 if correct else 1


def _run(runtime: Runtime, places: Places, orders: Path, show: Show) -> int:
    """Both nodes, until everything is done; how often one had to be started again."""
    web = Node("web", ["-m", "examples.postcards.shop", str(orders)], places.log("web"))
    worker = Node(
        "worker", ["-m", "wagoe_jobs.cli", "worker", "-a", "containers.worker:container"], places.log("worker")
    )
    try:
        for node in (worker, web):
            node.start()
            show.say(f"{node.name} node started, process {node.pid}, log {near(places.log(node.name))}")
        with show:
            _watch(runtime, web, worker, places, show)
        web.stop(PATIENCE_SECONDS)
        code = worker.stop(PATIENCE_SECONDS)
        if code:
            raise GaveUp(f"the worker node {how_it_ended(code)} when it was stopped:\n{worker.last_words()}")
    except BaseException:
        for node in (web, worker):
            node.stop(PATIENCE_SECONDS)
        raise
    return web.deaths + worker.deaths


def _watch(runtime: Runtime, web: Node, worker: Node, places: Places, show: Show) -> None:
    in_vain = done = 0
    while True:
        stats = _stats(runtime)
        if stats is not None:
            in_vain, done = (0, stats.processed) if stats.processed > done else (in_vain, done)
            show.update(stats, all_enqueued=places.report.exists())
            if places.report.exists() and not _left(stats):
                return
        in_vain += _looked_after(worker, show) + (_looked_after(web, show) if not places.report.exists() else 0)
        if in_vain >= DEATHS_IN_VAIN:
            node = max(web, worker, key=lambda node: node.deaths)
            raise GaveUp(f"the {node.name} node died {in_vain} times in vain. Its last words:\n{node.last_words()}")
        time.sleep(LOOK_SECONDS)


def _looked_after(node: Node, show: Show) -> int:
    """Start the node again if it has died; how many deaths were seen, 0 or 1."""
    code = node.ended()
    if code is None:
        if node.start_if_due():
            show.say(f"{node.name} node started again, process {node.pid}")
        return 0
    if code == 0 and node.name == "web":
        return 0
    pause = node.start_later()
    show.say(f"{node.name} node {how_it_ended(code)}: starting it again in {pause:.1f} s")
    return 1


def _stats(runtime: Runtime) -> StatsTotals | None:
    try:
        return runtime.stats.job_stats()
    except BackendUnavailable:
        return None


def _left(stats: StatsTotals) -> int:
    return sum(sum(queue.waiting.values()) + queue.scheduled + queue.in_flight for queue in stats.queues)


def _prepared(places: Places, *, fresh: bool, lent: bool) -> bool:
    """Make the run's folder; True when an interrupted run is in it.

    Without its database a run cannot be resumed, and what it printed must not be counted in with the next one's.
    """
    orphaned = not lent and not places.database.exists()
    if fresh or orphaned or places.finished.exists():
        _clear(places)
    resumed = places.database.exists()
    places.cards.mkdir(parents=True, exist_ok=True)
    places.report.unlink(missing_ok=True)
    return resumed


def _clear(places: Places) -> None:
    """Remove what runs make, and nothing else: the folder may be one that holds other things."""
    shutil.rmtree(places.cards, ignore_errors=True)
    for path in places.files():
        path.unlink(missing_ok=True)


def _jobs_settings() -> JobsSettings:
    jobs = node_settings("web").jobs
    assert jobs is not None
    return jobs


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev run", description="Run the postcards example.")
    parser.add_argument("--orders", type=Path, default=Path("examples/data/postcards.csv"), help="the customers' file")
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get(FOLDER, "out/postcards")))
    parser.add_argument("--fresh", action="store_true", help="do not resume an interrupted run")
    return parser.parse_args()


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
