"""Takes an order: the order, its lines, what it takes from the stock, and its two jobs, all or nothing.

Where the jobs are in the same database, they are part of the order's own transaction. Where they are not
(redis, memory) they are enqueued after its commit. THE WINDOW: a node that dies between the two, or a store of
jobs that is away just then, leaves an order without its jobs. It is closed by `orders.handed_over`: such an order
is handed over when its customer sends it again, as one does who got no answer, and at the latest when a web node
starts. Handing over twice adds nothing, since a job's id is made from the order's number.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import RowMapping, insert, or_, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

from examples.shop import receipts, stock
from examples.shop.database import Database
from examples.shop.order import CATALOGUE, Order
from examples.shop.tables import lines, movements, orders
from wagoe_jobs.client import Jobs, new_job
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import transactional_queue

_NEW_ORDER, _NEW_LINE, _NEW_MOVEMENT = insert(orders), insert(lines), insert(movements)

AWAY = (OperationalError, InterfaceError, NoConnection, BackendUnavailable)
"""What is raised while the database, or the store of the jobs, does not answer."""


class Closed(Exception):
    """The database, or the store of the jobs, does not answer; nothing is half done."""


class Conflict(Exception):
    """Another order has this number, or this key."""


@dataclass(frozen=True, slots=True)
class Taken:
    """`new` is false for an order that was taken before."""

    number: str
    cents: int
    new: bool


class Checkout:
    """Places orders; one object for all threads."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self._database = database
        self._jobs = jobs
        self._together = transactional_queue(jobs.runtime.queue)

    def place(self, order: Order, key: str | None = None) -> Taken:
        """Take the order, or tell that it was taken before; `key` is the customer's idempotency key.

        Raises Conflict, Closed.
        """
        with _closed_while_away():
            new = self._store(order, key)
            found = None if new else self._before(order, key)
            if not self._together and (found is None or not found["handed_over"]):
                self._hand_over(order.order)
        return Taken(order.order, sum(CATALOGUE[one.article].cents * one.quantity for one in order.articles), new)

    def hand_over_rest(self) -> int:
        """Enqueue the jobs of orders that were left without; how many. Raises Closed."""
        if self._together:
            return 0
        with _closed_while_away():
            with self._database.engine.connect() as conn:
                left = conn.execute(select(orders.c.number).where(orders.c.handed_over.is_(False))).scalars().all()
            for number in left:
                self._hand_over(number)
        return len(left)

    def _store(self, order: Order, key: str | None) -> bool:
        """False when its number or key is taken."""
        try:
            with self._database.engine.begin() as tx:
                # a write first: in SQLite a transaction that begins by reading could find itself overtaken
                tx.execute(_NEW_ORDER, {**_row(order, key), "handed_over": self._together})
                # by article, as the stock is booked: each locks the articles that it names, and neither waits in a ring
                tx.execute(_NEW_MOVEMENT, _movement_rows(order))
                tx.execute(_NEW_LINE, _line_rows(order))
                if self._together:
                    self._enqueue(order.order, tx)
        except IntegrityError:
            return False
        return True

    def _before(self, order: Order, key: str | None) -> RowMapping:
        """The order that has this number. Raises Conflict when it, or the one that has the key, is another."""
        mine = orders.c.number == order.order
        taken = select(orders).where(mine if key is None else or_(mine, orders.c.request_key == key))
        with self._database.engine.connect() as conn:
            found = {row["number"]: row for row in conn.execute(taken).mappings()}
        if any(number != order.order for number in found):
            raise Conflict("another order was sent under this Idempotency-Key")
        if order.order not in found or found[order.order]["fingerprint"] != order.fingerprint:
            raise Conflict(f"another order has the number {order.order}")
        return found[order.order]

    def _hand_over(self, number: str) -> None:
        self._enqueue(number)
        with self._database.engine.begin() as tx:
            tx.execute(update(orders).where(orders.c.number == number).values(handed_over=True))

    def _enqueue(self, number: str, tx: object = None) -> None:
        args, id_of = {"order": number}, self._database.job_id
        receipt = new_job(receipts.TYPE, args, max_retries=receipts.MAX_RETRIES, id=id_of(receipts.TYPE, number))
        booking = new_job(
            stock.TYPE, args, queue=stock.QUEUE, max_retries=stock.MAX_RETRIES, id=id_of(stock.TYPE, number)
        )
        self._jobs.enqueue_many([receipt, booking], tx=tx)


def reason_of(error: Exception) -> str:
    """One line for the log, without the statement that failed: customers' data is in that."""
    return str(error.orig if isinstance(error, DBAPIError) else error).partition("\n")[0]


@contextmanager
def _closed_while_away() -> Iterator[None]:
    try:
        yield
    except AWAY as error:
        raise Closed(reason_of(error)) from error


def _row(order: Order, key: str | None) -> dict[str, object]:
    told = order.model_dump(exclude={"order", "articles"})
    return {
        **told,
        "number": order.order,
        "request_key": key,
        "fingerprint": order.fingerprint,
        "placed_s": int(time.time()),
    }


def _line_rows(order: Order) -> list[dict[str, object]]:
    return [
        {
            "number": order.order,
            "position": position,
            "article": wanted.article,
            "quantity": wanted.quantity,
            "cents": CATALOGUE[wanted.article].cents,
        }
        for position, wanted in enumerate(order.articles, 1)
    ]


def _movement_rows(order: Order) -> list[dict[str, object]]:
    return [
        {"number": order.order, "article": article, "quantity": quantity, "booked": False}
        for article, quantity in order.by_article().items()
    ]
