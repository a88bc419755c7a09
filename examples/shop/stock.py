"""The module of the stock: takes from the shelves what an order has reserved.

The movements are marked and the shelves emptied in one transaction, and only what is not marked yet is taken; so
a second run of the job changes nothing.
"""

from collections.abc import Mapping
from typing import Any

from dependency_injector import providers
from sqlalchemy import select, update

from examples.shop.database import Database
from examples.shop.order import OrderNumber
from examples.shop.tables import articles, movements
from wagoe_jobs import Contribution, Success, handler, ref

TYPE = "book-stock"
QUEUE = "stock"
MAX_RETRIES = 10


class Stock:
    """Books what orders take."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @handler(TYPE, args=OrderNumber, queue=QUEUE, max_retries=MAX_RETRIES, timeout=60)
    def book(self, args: Mapping[str, str]) -> Success:
        with self._database.engine.begin() as tx:
            open_ones = (movements.c.number == args["order"]) & movements.c.booked.is_(False)
            if not tx.execute(update(movements).where(open_ones).values(booked=True)).rowcount:
                return Success("booked before")
            # in the order of their codes, so that two orders never wait for one another
            taken = (
                select(movements.c.article, movements.c.quantity)
                .where(movements.c.number == args["order"])
                .order_by(movements.c.article)
            )
            for article, quantity in tx.execute(taken).all():
                shelf = update(articles).where(articles.c.code == article)
                tx.execute(shelf.values(on_hand=articles.c.on_hand - quantity))
        return Success("booked")


def configure(settings: Mapping[str, object], enabled: frozenset[str]) -> Contribution:
    booked: providers.Provider[Any] = providers.Singleton(Stock, database=ref("database"))
    return Contribution(
        providers={"stock": booked},
        job_handlers=providers.List(booked.provided.book) if "jobs" in enabled else (),
    )
