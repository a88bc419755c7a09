"""The web node's part: reads the customers' file and enqueues one job for each order.

    python -m examples.postcards.shop examples/data/postcards.csv

Run again, it adds nothing: a job's id is made from its order's number. What it did is written as JSON.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from uuid import UUID

from containers.web import container
from examples.postcards.orders import Order, Unusable, read_orders
from examples.postcards.places import places
from examples.postcards.printing import MAX_RETRIES, TYPE
from wagoe_jobs.client import Jobs, new_job
from wagoe_jobs.core.job import Job
from wagoe_jobs.node import running

BATCH = 200


@dataclass(slots=True)
class Report:
    """What became of the file's rows; `skipped` has the line and the reason of each that is no order.

    `duplicates` were there before: the same order twice in the file, or all that an interrupted run enqueued.
    """

    orders: int = 0
    duplicates: int = 0
    distinct: int = 0
    skipped: list[tuple[int, str]] = field(default_factory=list)


def enqueue_all(jobs: Jobs, path: Path) -> Report:
    """Enqueue every order in batches, each all or nothing."""
    report = Report()
    seen: set[UUID] = set()
    for batch in _batches(_usable(path, report)):
        made = jobs.enqueue_many([_job(order) for order in batch])
        report.orders += len(made)
        report.duplicates += sum(one.duplicate for one in made)
        seen.update(made)
    report.distinct = len(seen)
    return report


def _job(order: Order) -> Job:
    return new_job(TYPE, order.args(), id=order.id, max_retries=MAX_RETRIES)


def _usable(path: Path, report: Report) -> Iterator[Order]:
    for row in read_orders(path):
        match row:
            case Order():
                yield row
            case Unusable(line, reason):
                report.skipped.append((line, reason))


def _batches(orders: Iterator[Order]) -> Iterator[list[Order]]:
    while batch := list(islice(orders, BATCH)):
        yield batch


def main(path: Path) -> None:
    with running(container) as node:
        report = enqueue_all(node.client(), path)
    unfinished = places().report.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(report)))
    unfinished.replace(places().report)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
