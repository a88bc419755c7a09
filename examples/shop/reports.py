"""The module of reports: one page about everything sold, with a table as CSV and a chart.

What draws the chart is loaded when a report is built, not when the node starts: it takes a second and memory that
no other job needs.
"""

import csv
from collections.abc import Mapping, Sequence
from datetime import timedelta
from html import escape
from io import StringIO
from typing import Annotated, Any, NamedTuple

from dependency_injector import providers
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select

from examples.shop.database import Database
from examples.shop.order import CATALOGUE
from examples.shop.places import Places, until_it_can_be_written, write_whole
from examples.shop.tables import articles, lines, movements, orders
from wagoe_jobs import Contribution, JobContext, Snooze, Success, handler, ref

TYPE = "build-report"
PATIENCE = timedelta(seconds=30)
"""How long a report waits for the stock to be booked; after that it says what is missing."""


class ReportName(BaseModel):
    """The arguments: what the report is called, and its folder with it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")] = "sales"


class Sold(NamedTuple):
    """One article's line in the report."""

    code: str
    title: str
    units: int
    cents: int
    on_hand: int


class Sales(NamedTuple):
    orders: int
    unbooked: int
    articles: Sequence[Sold]
    countries: Sequence[tuple[str, int]]

    @property
    def cents(self) -> int:
        return sum(sold.cents for sold in self.articles)


class Reports:
    """Builds reports."""

    def __init__(self, database: Database, places: Places) -> None:
        self._database = database
        self._places = places

    @handler(TYPE, args=ReportName, timeout=120)
    def build(self, args: Mapping[str, str], context: JobContext) -> Success | Snooze:
        sales = self._sales()
        if sales.unbooked and context.job.updated_at - context.job.created_at < PATIENCE:
            return Snooze(timedelta(milliseconds=500))
        from examples.shop.chart import chart  # noqa: PLC0415 - late: see above

        folder = self._places.reports / args.get("name", "sales")
        try:
            write_whole(folder / "sales.csv", as_csv(sales).encode())
            write_whole(folder / "sales.png", chart(sales))
            write_whole(folder / "index.html", as_page(sales).encode())  # last: who sees it finds the others
        except OSError as error:
            return until_it_can_be_written(error)
        return Success({"file": str(folder / "index.html"), "orders": sales.orders, "cents": sales.cents})

    def _sales(self) -> Sales:
        sold = (
            select(lines.c.article, func.sum(lines.c.quantity).label("units"))
            .add_columns(func.sum(lines.c.quantity * lines.c.cents).label("cents"))
            .group_by(lines.c.article)
        )
        by_country = select(orders.c.country, func.count().label("orders")).group_by(orders.c.country)
        with self._database.engine.connect() as conn:
            taken = {row.article: (int(row.units), int(row.cents)) for row in conn.execute(sold)}
            shelves = {row.code: row.on_hand for row in conn.execute(select(articles.c.code, articles.c.on_hand))}
            countries = sorted(conn.execute(by_country).all(), key=lambda pair: (-pair[1], pair[0]))
            count = conn.execute(select(func.count()).select_from(orders)).scalar_one()
            unbooked = conn.execute(
                select(func.count()).select_from(movements).where(movements.c.booked.is_(False))
            ).scalar_one()
        goods = [
            Sold(one.code, one.title, *taken.get(one.code, (0, 0)), shelves.get(one.code, 0))
            for one in CATALOGUE.values()
        ]
        return Sales(count, unbooked, sorted(goods, key=lambda one: -one.cents), countries)


def configure(settings: Mapping[str, object], enabled: frozenset[str]) -> Contribution:
    built: providers.Provider[Any] = providers.Singleton(Reports, database=ref("database"), places=ref("places"))
    return Contribution(
        providers={"reports": built},
        job_handlers=providers.List(built.provided.build) if "jobs" in enabled else (),
    )


def as_csv(sales: Sales) -> str:
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["article", "title", "units", "cents", "on_hand"])
    table.writerows(sales.articles)
    return text.getvalue()


def as_page(sales: Sales) -> str:
    """HTML that needs nothing but the chart beside it."""
    rows = "".join(_row(one.title, one.units, f"{one.cents / 100:.2f}", one.on_hand) for one in sales.articles)
    short = [one.title for one in sales.articles if one.on_hand <= 0]
    notes = [f"To be ordered: {', '.join(short)}."] if short else []
    notes += [f"{sales.unbooked} movements are not booked yet."] if sales.unbooked else []
    countries = ", ".join(f"{escape(country)} {count}" for country, count in sales.countries)
    return (
        '<!doctype html>\n<meta charset="utf-8">\n<title>Sales</title>\n'
        "<style>body { font-family: sans-serif } td { padding: 0 1em; text-align: right } "
        "td:first-child { text-align: left }</style>\n"
        f"<h1>Sales</h1>\n<p>{sales.orders} orders, {sales.cents / 100:.2f} EUR. {escape(' '.join(notes))}</p>\n"
        '<img src="sales.png" alt="Turnover by article">\n'
        "<table>\n<tr><th>article<th>units<th>EUR<th>on hand</tr>\n"
        f"{rows}</table>\n<p>By country: {countries}.</p>\n"
    )


def _row(*cells: object) -> str:
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>\n"
