"""The figures that show whether the structure is right, beside the fastest peers on the same store in the same run.

    python -m bench --peer-python PATH [--store postgres|sqlite|mariadb|redis] [--quick] [--enqueue] [--runs N]
                    [--json FILE]

Prints each run, a table of medians, and which expectation holds. Exits 1 if one does not. With --enqueue, only how many
jobs a second are enqueued one at a time, and how many times each peer's rate that is.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.drain import Contender, Run, drain
from bench.fields import HANDLER_MS, SLOTS, Field, fields
from bench.singly import singly

SIZES = (20_000, 80_000)
SLOW_JOBS = 20_000
SINGLE_JOBS = 1_000
NAMES = ("postgres", "sqlite", "mariadb", "redis")
Medians = dict[tuple[str, int], float]
"""Jobs a second by contender and number of jobs."""


def main() -> int:
    options = _options()
    known = fields(options.peer_python)
    sizes, times = (SIZES[:1], 1) if options.quick else (SIZES, options.runs)
    runs: list[Run] = []
    failed = 0
    for name in options.store or NAMES:
        runs += _enqueued(known[name], options.runs)
        if options.enqueue:
            continue
        done, share = _measured(known[name], sizes, times)
        runs += done
        failed += _report(known[name], sizes, _medians(done), share)
    if options.json:
        options.json.write_text(json.dumps([asdict(run) | {"rate": run.rate} for run in runs], indent=1))
    return 1 if failed else 0


def _enqueued(field: Field, times: int) -> list[Run]:
    """Single enqueues of a store, printed as medians; nothing is expected of them."""
    with field.opened() as url:
        runs = list(singly((field.ours, *field.peers), field.name, url, SINGLE_JOBS, times))
    rates = _medians(runs)
    ours = rates[field.ours.name, SINGLE_JOBS]
    for (contender, _), rate in rates.items():
        print(f"{field.name:10} {contender:12} one at a time  {rate:9,.0f}/s  {ours / rate:6.2f}", flush=True)
    return runs


def _measured(field: Field, sizes: Sequence[int], times: int) -> tuple[list[Run], float]:
    """All drains of a store, each contender in turn so that they share whatever else the machine does."""
    with field.opened() as url:
        contenders = (field.ours, *field.peers)
        runs = [run for _ in range(times) for size in sizes for run in _round(field, contenders, url, size)]
        slow = drain(field.ours, field.name, url, SLOW_JOBS, str(SLOTS), str(HANDLER_MS))
    return runs, slow.rate / (SLOTS * 1000 / HANDLER_MS)


def _round(field: Field, contenders: Sequence[Contender], url: str, jobs: int) -> Iterator[Run]:
    for contender in contenders:
        run = drain(contender, field.name, url, jobs)
        print(f"{run.store:10} {run.contender:12} {jobs:7,} jobs  {run.rate:9,.0f}/s", flush=True)
        yield run


def _medians(runs: Sequence[Run]) -> Medians:
    found: dict[tuple[str, int], list[float]] = {}
    for run in runs:
        found.setdefault((run.contender, run.jobs), []).append(run.rate)
    return {key: statistics.median(rates) for key, rates in found.items()}


def _report(field: Field, sizes: Sequence[int], medians: Medians, share: float) -> int:
    """Print what was measured of a store; how many expectations it falls short of."""
    print(f"\n{field.name}, medians of jobs a second:")
    for (contender, jobs), rate in sorted(medians.items(), key=lambda item: (item[0][1], -item[1])):
        print(f"  {jobs:7,} jobs  {contender:12} {rate:9,.0f}")
    short = 0
    for what, is_, wanted in _expectations(field, sizes, medians, share):
        short += is_ < wanted
        print(f"  {'ok  ' if is_ >= wanted else 'FALLS SHORT'} {what}: {is_:,.2f} (wanted: {wanted:,})")
    print(flush=True)
    return short


def _expectations(
    field: Field, sizes: Sequence[int], medians: Medians, share: float
) -> Iterator[tuple[str, float, float]]:
    for jobs in sizes:
        ours = medians[field.ours.name, jobs]
        if jobs in field.rates:
            yield f"jobs/s at {jobs:,}", ours, field.rates[jobs]
        for peer in field.peers if jobs in field.times else ():
            yield f"times {peer.name} at {jobs:,}", ours / medians[peer.name, jobs], field.times[jobs]
    yield f"{HANDLER_MS} ms handlers on {SLOTS} slots, share of ideal", share, field.share


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", required=True, help="the interpreter of an environment that has the peers")
    parser.add_argument("--store", choices=NAMES, action="append", help="only this one; may be given again")
    parser.add_argument("--quick", action="store_true", help=f"one run of {SIZES[0]:,} jobs")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--enqueue", action="store_true", help="only how fast one job after the other is enqueued")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
