"""An enqueue whose reply is lost on the way was done all the same: repeated by its id, it is there once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from sqlalchemy import Engine, make_url, text
from sqlalchemy.exc import DBAPIError

from tests.proxy import Proxy
from wagoe_jobs import Jobs, Registry, Worker, new_job, open_runtime
from wagoe_jobs.adapters import sql
from wagoe_jobs.errors import BackendUnavailable

KEY = "order-7"


class Far:
    """A database behind a proxy, and the client of a runtime on it."""

    def __init__(self, engine: Engine, jobs: Jobs, proxy: Proxy) -> None:
        self.engine = engine
        self.jobs = jobs
        self._proxy = proxy
        self.runs = 0

    @contextmanager
    def unheard(self, error: type[Exception] = BackendUnavailable) -> Iterator[None]:
        """The last that the block asks for is done by the server, and nobody hears of it."""
        with pytest.raises(error):
            yield
        self._proxy.cut()
        self._proxy.drop_replies(False)

    def deafen(self) -> None:
        """From now on, nobody hears what the server says."""
        self._proxy.drop_replies()

    def work(self) -> int:
        """Run whatever is ready; how many runs there were."""

        def run(args: object) -> None:
            self.runs += 1

        with Worker(self.jobs.runtime, Registry({"x": run})) as worker:
            while worker.work_one():
                pass
        return self.runs


@pytest.fixture(params=["postgres", "mariadb"])
def far(request: pytest.FixtureRequest) -> Iterator[Far]:
    server, url = request.getfixturevalue(request.param), request.getfixturevalue(f"{request.param}_url")
    with Proxy(server.port) as proxy:
        engine = sql.open_engine(make_url(url).set(port=proxy.port), timeout=timedelta(seconds=1))
        with engine.begin() as tx:
            tx.execute(text("CREATE TABLE orders (n INTEGER)"))
        with open_runtime({"provider": "db"}, engine) as runtime:
            yield Far(engine, Jobs(runtime), proxy)
        engine.dispose()


@pytest.mark.fault(57)
@pytest.mark.parametrize(
    "enqueue",
    [
        lambda jobs, made: [jobs.enqueue(made)],
        lambda jobs, made: [jobs.enqueue(made, delay=0)],
        lambda jobs, made: jobs.enqueue_many([made, made]),
        lambda jobs, made: [jobs.enqueue(made, key=KEY)],
    ],
    ids=["one", "delayed", "many", "key"],
)
def test_a_repeated_enqueue_stores_one_copy_that_runs_once(far: Far, enqueue: Callable[..., list[object]]) -> None:
    made = new_job("x")
    enqueue(far.jobs, new_job("warm"))
    far.jobs.runtime.idempotency.release("warm", KEY)  # type: ignore[union-attr]  # there is one
    with far.unheard():
        far.deafen()
        enqueue(far.jobs, made)
    told = enqueue(far.jobs, made)
    assert set(told) == {made.id}
    assert len(far.jobs.find(type="x").jobs) == 1
    assert far.work() == 1
    assert all(id.duplicate for id in enqueue(far.jobs, made))  # type: ignore[attr-defined]
    assert far.work() == 1


@pytest.mark.fault(57)
def test_a_transaction_whose_commit_was_not_answered_is_repeated_with_the_same_id(far: Far) -> None:
    """The job tells whether it was committed: the one who repeats asks for it, and for nothing else."""
    made = new_job("x")
    with far.unheard(DBAPIError), far.engine.connect() as tx:
        tx.execute(text("INSERT INTO orders VALUES (1)"))
        far.jobs.enqueue(made, tx=tx)
        far.deafen()
        tx.commit()
    with far.engine.begin() as tx:
        if not far.jobs.enqueue(made, tx=tx).duplicate:
            tx.execute(text("INSERT INTO orders VALUES (1)"))
    with far.engine.connect() as conn:
        assert conn.execute(text("SELECT COUNT(*) FROM orders")).scalar_one() == 1
    assert far.work() == 1
