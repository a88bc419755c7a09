"""Adds up a finished run, and checks it: what the web node answered, the shop's tables, the jobs, and the files made.

These four know nothing of one another, and must agree.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from examples.shop import receipts
from examples.shop.database import Database
from examples.shop.feed import Fed, Malformed, Refused
from examples.shop.order import CATALOGUE
from examples.shop.places import Places, near
from examples.shop.progress import Show
from examples.shop.tables import articles, movements, orders
from wagoe_jobs.core.job import Job
from wagoe_jobs.ports import Runtime

EXAMPLES = 5
REPORT = "sales"
INDENT = " " * 14


@dataclass(frozen=True, slots=True)
class Course:
    """How the run went."""

    fed: Fed
    jobs: int
    seconds: float
    restarts: int


def add_up(runtime: Runtime, database: Database, places: Places, course: Course, show: Show) -> bool:
    """Print what became of every line; False when anything does not add up."""
    fed, runs, dead = course.fed, runs_in(places), list(dead_letters(runtime))
    written = {file.stem for file in places.receipts.glob("*.eml")}
    show.say("")
    show.say(f"orders      {len(fed.taken):6,} taken, {fed.again:,} sent again and not doubled")
    _say_left_out(fed, show)
    show.say(f"receipts    {len(written):6,} written, one file each")
    show.say(f"repeated    {sum(times > 1 for times in runs.values()):6,} receipts, after a failure or a killed node")
    show.say(f"dead        {len(dead):6,} jobs kept as dead letters")
    for job in dead[:EXAMPLES]:
        show.say(f"{INDENT}{job.id} {_about(job)}")
        show.say(f"{INDENT}  {_reason(job)}")
    rate = course.jobs / max(course.seconds, 0.001)
    restarts = f", {course.restarts} restart{'' if course.restarts == 1 else 's'} of a node" if course.restarts else ""
    show.say(f"took        {course.seconds:6.1f} s for {course.jobs:,} jobs, {rate:,.0f} jobs/s{restarts}")
    show.say(f"results in  {near(places.root)}")
    show.say(f"{INDENT}receipts/  {near(places.reports / REPORT / 'index.html')}")
    wrong = [
        *_wrong_orders(database, fed),
        *_wrong_receipts(database, fed, dead, written),
        *_wrong_stock(database),
        *_wrong_report(places),
    ]
    for reason in wrong:
        show.say(f"WRONG: {reason}")
    return not wrong


def dead_letters(runtime: Runtime) -> Iterator[Job]:
    cursor = None
    while True:
        page = runtime.store.failed_jobs(cursor=cursor)
        yield from page.jobs
        cursor = page.cursor
        if cursor is None:
            return


def runs_in(places: Places) -> Counter[str]:
    """How often the handler of receipts was entered for each order."""
    if not places.runs.exists():
        return Counter()
    return Counter(line.split()[0] for line in places.runs.read_text().splitlines())


def _wrong_orders(database: Database, fed: Fed) -> Iterator[str]:
    with database.engine.connect() as conn:
        stored = set(conn.execute(select(orders.c.number)).scalars())
        left = conn.execute(
            select(func.count()).select_from(orders).where(orders.c.handed_over.is_(False))
        ).scalar_one()
    if lost := fed.taken - stored:
        yield f"taken, but not in the database: {_some(lost)}"
    if more := stored - fed.taken:
        yield f"in the database, but nobody's: {_some(more)}"
    if left:
        yield f"{left} orders were left without their jobs"


def _wrong_receipts(database: Database, fed: Fed, dead: Sequence[Job], written: set[str]) -> Iterator[str]:
    dead_ids = {job.id for job in dead}
    expected = {number for number in fed.taken if database.job_id(receipts.TYPE, number) not in dead_ids}
    if lost := expected - written:
        yield f"no receipt, and no dead letter either: {_some(lost)}"
    if more := written - expected:
        yield f"a receipt that should not be there: {_some(more)}"


def _wrong_stock(database: Database) -> Iterator[str]:
    taken = select(movements.c.article, func.sum(movements.c.quantity)).group_by(movements.c.article)
    with database.engine.connect() as conn:
        moved = {article: int(quantity) for article, quantity in conn.execute(taken)}
        shelves = {row.code: row.on_hand for row in conn.execute(select(articles.c.code, articles.c.on_hand))}
    for article in CATALOGUE.values():
        right = article.stock - moved.get(article.code, 0)
        if shelves[article.code] != right:
            yield f"{article.code}: {shelves[article.code]} on hand instead of {right}"


def _wrong_report(places: Places) -> Iterator[str]:
    if not (places.reports / REPORT / "index.html").exists():
        yield "there is no report"


def _some(numbers: set[str]) -> str:
    more = len(numbers) - EXAMPLES
    return ", ".join(sorted(numbers)[:EXAMPLES]) + (f" and {more} more" if more > 0 else "")


def _say_left_out(fed: Fed, show: Show) -> None:
    left_out: list[Malformed | Refused] = [*fed.refused, *fed.malformed]
    show.say(f"refused     {len(fed.refused):6,} by the web node")
    show.say(f"skipped     {len(fed.malformed):6,} lines that are no order")
    for one in sorted(left_out, key=lambda one: one.line):
        answered = f" {one.order} {one.status}:" if isinstance(one, Refused) else ""
        show.say(f"{INDENT}line {one.line}{answered} {one.reason}"[:110])


def _about(job: Job) -> str:
    return str(job.args.get("order", "")) if isinstance(job.args, dict) else ""


def _reason(job: Job) -> str:
    return "for no reason" if job.error is None else f"{job.error.type}: {job.error.message}"[:100]
