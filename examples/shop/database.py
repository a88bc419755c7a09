"""The shop's database: where the jobs are if these are in SQL, so that both can be written in one transaction.

With jobs in redis the tables are in an SQLite file of the shop's own, which all its processes share.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4, uuid5

from sqlalchemy import URL, Engine, RowMapping, create_engine, event, insert, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError

from examples.shop.order import CATALOGUE
from examples.shop.places import Places
from examples.shop.tables import articles, lines, metadata, orders, shop
from wagoe_jobs.settings import JobsSettings, Settings

CONNECT_OPTIONS: dict[str, dict[str, Any]] = {
    "sqlite": {"timeout": 20.0},
    "postgresql": {"connect_timeout": 5},
    "mysql": {"connect_timeout": 5, "read_timeout": 20, "write_timeout": 20},
    "mariadb": {"connect_timeout": 5, "read_timeout": 20, "write_timeout": 20},
}
TRIES = 5


@dataclass(frozen=True, slots=True)
class Placed:
    """An order as it is in the database; `lines` are title, quantity and cents a piece."""

    order: RowMapping
    lines: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Database:
    """The engine, and which shop this is."""

    engine: Engine
    id: UUID

    def job_id(self, type: str, order: str) -> UUID:
        """The id of the order's job of this type: enqueuing it again adds nothing."""
        return uuid5(self.id, f"{type} {order}")

    def order(self, number: str) -> Placed | None:
        with self.engine.connect() as conn:
            found = conn.execute(select(orders).where(orders.c.number == number)).mappings().one_or_none()
            if found is None:
                return None
            of_it = (
                select(articles.c.title, lines.c.quantity, lines.c.cents)
                .join_from(lines, articles, articles.c.code == lines.c.article)
                .where(lines.c.number == number)
                .order_by(lines.c.position)
            )
            return Placed(found, tuple((row.title, row.quantity, row.cents) for row in conn.execute(of_it)))


def open_database(settings: Settings, places: Places) -> Iterator[Database]:
    """The database, its tables made and its shelves filled where they are not yet; closed by going on."""
    assert settings.jobs is not None
    url = _url(settings.jobs, places)
    engine = create_engine(
        url, pool_size=10, pool_timeout=10.0, pool_pre_ping=True, connect_args=CONNECT_OPTIONS[url.get_backend_name()]
    )
    try:
        if url.get_backend_name() == "sqlite":
            event.listen(engine, "connect", _write_ahead)
        yield Database(engine, _founded(engine))
    finally:
        engine.dispose()


def _url(jobs: JobsSettings, places: Places) -> URL:
    if jobs.provider == "db" and jobs.db.url is not None:
        return make_url(jobs.db.url.get_secret_value())
    places.root.mkdir(parents=True, exist_ok=True)
    return URL.create("sqlite", database=str(places.database))


def _write_ahead(raw: Any, _: object) -> None:
    """Let readers and the one writer not wait for one another; as the jobs' adapter has it."""
    raw.execute("PRAGMA journal_mode=WAL").close()


def _founded(engine: Engine) -> UUID:
    """Make what is missing, and tell which shop it is. Another node may be doing the same: then look again."""
    for _ in range(TRIES - 1):
        with suppress(DBAPIError):
            return _found(engine)
        time.sleep(0.2)
    return _found(engine)


def _found(engine: Engine) -> UUID:
    metadata.create_all(engine)
    with suppress(IntegrityError), engine.begin() as tx:
        tx.execute(insert(shop).values(one=1, id=str(uuid4())))
        goods = [
            {"code": one.code, "title": one.title, "cents": one.cents, "on_hand": one.stock}
            for one in CATALOGUE.values()
        ]
        tx.execute(insert(articles), goods)
    with engine.connect() as conn:
        return UUID(conn.execute(select(shop.c.id)).scalar_one())
