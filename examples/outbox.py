"""A job in the transaction of the business data: both are there, or neither. python examples/outbox.py"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, create_engine, func, insert, select

from wagoe_jobs import Jobs, handler, running
from wagoe_jobs.containers import JobsContainer

metadata = MetaData()
orders = Table("orders", metadata, Column("id", Integer, primary_key=True), Column("article", String(40)))


@handler("send-receipt")
def send_receipt(args: Mapping[str, int]) -> str:
    return f"receipt for order {args['order']}"


job_handlers = [send_receipt]


class CardRefused(Exception):
    """What goes wrong in the middle of the second order."""


def order(engine: Engine, jobs: Jobs, article: str, *, card: bool) -> None:
    with engine.begin() as tx:  # commits at its end, rolls back when anything is raised
        number = tx.execute(insert(orders).values(article=article).returning(orders.c.id)).scalar_one()
        jobs.enqueue(send_receipt, {"order": number}, tx=tx)
        if not card:
            raise CardRefused


def main(folder: Path) -> None:
    engine = create_engine(f"sqlite:///{folder / 'shop.sqlite'}")  # the application's own, lent to the jobs
    metadata.create_all(engine)
    settings = {"modules": [__name__], "jobs": {"provider": "db"}}
    with running(JobsContainer(settings=settings, engine=engine)) as system:
        order(engine, system.client(), "tea", card=True)
        try:
            order(engine, system.client(), "pot", card=False)
        except CardRefused:
            print("the second order was rolled back, and its job with it")
        for job in system.client().find().jobs:
            ended = system.client().wait(job.id, timeout=10)
            print(ended and ended.result)
    with engine.connect() as conn:
        print("orders:", conn.execute(select(func.count()).select_from(orders)).scalar_one())
    engine.dispose()


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        main(Path(made))
