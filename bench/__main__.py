"""The figures that show whether the structure is right, beside the fastest PostgreSQL peer in the same run.

    python -m bench [--quick] --peer-python PATH [--runs N] [--json FILE]

Prints a table of medians and says which expectation holds. Exits 1 if one does not.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from bench.drain import Contender, Drain, drain
from tests.servers import PostgresServer

OURS = Contender(name="wagoe_jobs", module="bench.contender_wagoe", table="job_queue")
SIZES = (20_000, 80_000)
SLOW_JOBS, SLOTS, HANDLER_MS = 20_000, 50, 10


def main() -> int:
    options = _options()
    peer = Contender(name="pgqueuer", module="bench.contender_pgqueuer", table="pgqueuer", python=options.peer_python)
    with _stores() as (postgres, sqlite):
        runs = [run for _ in range(options.runs) for run in _round(peer, postgres, sqlite)]
        ideal = [_share_of_ideal(url) for url in (postgres, sqlite)]
    if options.json:
        options.json.write_text(json.dumps([asdict(run) | {"rate": run.rate} for run in runs], indent=1))
    return _report(runs, ideal)


def _round(peer: Contender, postgres: str, sqlite: str) -> Iterator[Drain]:
    for jobs in SIZES:
        for contender, url in ((OURS, postgres), (peer, postgres), (OURS, sqlite)):
            run = drain(contender, url, jobs)
            print(f"{run.contender:12} {run.store:12} {jobs:7,} jobs  {run.rate:9,.0f}/s", flush=True)
            yield run


def _share_of_ideal(url: str) -> float:
    """Handlers of 10 ms on 50 slots: the ideal is 5,000 a second."""
    run = drain(OURS, url, SLOW_JOBS, str(SLOTS), str(HANDLER_MS))
    return run.rate / (SLOTS * 1000 / HANDLER_MS)


def _report(runs: list[Drain], ideal: list[float]) -> int:
    median = {
        (name, store, jobs): statistics.median(
            r.rate for r in runs if (r.contender, r.store, r.jobs) == (name, store, jobs)
        )
        for name, store, jobs in {(r.contender, r.store, r.jobs) for r in runs}
    }
    ours = {jobs: median["wagoe_jobs", "postgresql", jobs] for jobs in SIZES}
    peer = {jobs: median["pgqueuer", "postgresql", jobs] for jobs in SIZES}
    checks = {
        "PostgreSQL, jobs/s at 20,000": (ours[20_000], 20_000),
        "PostgreSQL, times the peer at 20,000": (ours[20_000] / peer[20_000], 1.2),
        "PostgreSQL, times the peer at 80,000": (ours[80_000] / peer[80_000], 2),
        "PostgreSQL, 10 ms handlers on 50 slots, share of ideal": (ideal[0], 0.93),
        "SQLite, jobs/s at 20,000": (median["wagoe_jobs", "sqlite", 20_000], 20_000),
        "SQLite, 10 ms handlers on 50 slots, share of ideal": (ideal[1], 0.93),
    }
    print()
    for what, (is_, wanted) in checks.items():
        print(f"{'ok  ' if is_ >= wanted else 'FALLS SHORT'} {what}: {is_:,.2f} (wanted: {wanted:,})")
    return 0 if all(is_ >= wanted for is_, wanted in checks.values()) else 1


def _key(run: Drain) -> tuple[str, str, int]:
    return run.contender, run.store, run.jobs


@contextmanager
def _stores() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server, server.database() as url:
        yield url, f"sqlite:///{folder}/bench.sqlite3"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", required=True, help="the interpreter of an environment that has the peer")
    parser.add_argument("--quick", action="store_true", help="what is measured today; the default")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
