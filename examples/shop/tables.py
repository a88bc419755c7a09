"""The shop's own tables, for every database that jobs can be kept in.

Numbers and keys are compared exactly everywhere (`utf8mb4_bin`): MariaDB would else take `a` for `A`.
"""

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, MetaData, String, Table

metadata = MetaData()
_EXACT: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
_NUMBER = String(20)

shop = Table(
    "shop",
    metadata,
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("id", String(36), nullable=False),
    **_EXACT,
)
"""One row: which shop this is. Ids of its jobs are made from it."""

articles = Table(
    "shop_articles",
    metadata,
    Column("code", _NUMBER, primary_key=True),
    Column("title", String(80), nullable=False),
    Column("cents", Integer, nullable=False),
    Column("on_hand", Integer, nullable=False),
    **_EXACT,
)

orders = Table(
    "shop_orders",
    metadata,
    Column("number", _NUMBER, primary_key=True),
    Column("request_key", String(200), unique=True),
    Column("fingerprint", String(64), nullable=False),
    Column("name", String(120), nullable=False),
    Column("email", String(120), nullable=False),
    Column("street", String(200), nullable=False),
    Column("postcode", String(20), nullable=False),
    Column("town", String(120), nullable=False),
    Column("country", String(2), nullable=False),
    Column("placed_s", BigInteger, nullable=False),
    Column("handed_over", Boolean, nullable=False, index=True),
    **_EXACT,
)
"""`handed_over` is false while the order's jobs may not be enqueued yet: see checkout.py."""

lines = Table(
    "shop_order_lines",
    metadata,
    Column("number", _NUMBER, ForeignKey(orders.c.number), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("article", _NUMBER, ForeignKey(articles.c.code), nullable=False),
    Column("quantity", Integer, nullable=False),
    Column("cents", Integer, nullable=False),
    **_EXACT,
)

movements = Table(
    "shop_stock_movements",
    metadata,
    Column("number", _NUMBER, ForeignKey(orders.c.number), primary_key=True),
    Column("article", _NUMBER, ForeignKey(articles.c.code), primary_key=True),
    Column("quantity", Integer, nullable=False),
    Column("booked", Boolean, nullable=False),
    **_EXACT,
)
"""What each order takes from the stock; `booked` once `articles.on_hand` is less by it.

No index on it: MariaDB would lock the gaps in that, and new orders and bookings would wait for one another in a ring.
"""
