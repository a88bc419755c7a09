"""What MariaDB has of its own: collations, snapshots, gaps, row counts, packets, versions."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pymysql
import pytest
from sqlalchemy import Connection, Engine, event, insert, inspect, make_url, select, text

from tests.backends import SqlStore
from tests.conftest import Engines
from tests.known_differences import KNOWN_DIFFERENCES
from tests.servers import MariaDbServer
from tests.sql.conftest import LINE, Parts, new_job
from wagoe_jobs.adapters import sql
from wagoe_jobs.adapters.sql.connections import driver
from wagoe_jobs.adapters.sql.exchange import PortableExchange
from wagoe_jobs.adapters.sql.mysql import MySQL
from wagoe_jobs.adapters.sql.mysql_exchange import JoinedExchange
from wagoe_jobs.core.job import Status
from wagoe_jobs.errors import BackendUnavailable, InvalidJob, NotATransaction, SettingsError
from wagoe_jobs.ports import Answer, Claim, Claimed, Hold, Settlement, Taken, WakingJobQueue
from wagoe_jobs.testing import contract

HOUR = timedelta(hours=1)


@pytest.fixture
def parts(mariadb_engine: Engine, open_parts: Callable[..., Parts]) -> Parts:
    return open_parts(mariadb_engine)


def completed(claims: Any) -> list[Settlement]:
    return [Settlement(claim, Status.COMPLETED) for claim in claims]


class TestTables:
    def test_they_are_of_innodb_whatever_the_server_or_the_database_prefers(
        self, mariadb_url: str, engines: Engines, open_parts: Callable[..., Parts]
    ) -> None:
        prefer = "SET default_storage_engine = MyISAM, character_set_server = latin1"
        engine = engines(mariadb_url, connect_args={"init_command": prefer})
        with engine.begin() as conn:
            conn.execute(text("ALTER DATABASE CHARACTER SET latin1"))
        parts = open_parts(engine)
        with engine.connect() as conn:
            rows = conn.execute(
                text(
                    "SELECT engine, row_format, table_collation FROM information_schema.tables "
                    "WHERE table_schema = database()"
                )
            )
            assert {tuple(row) for row in rows} == {("InnoDB", "Dynamic", "utf8mb4_nopad_bin")}
        job = new_job(metadata={"said": "é 😀"})
        parts.queue.enqueue(job)
        (claim,) = parts.queue.claim(LINE, "w", 1)
        parts.queue.settle([Settlement(claim, Status.FAILED, result='"😀 \\u0000 \x7f"', error=None)])
        found = parts.store.find(job.id)
        assert found is not None
        assert found.metadata["said"] == "é 😀"
        assert found.result == "😀 \0 \x7f"

    @pytest.mark.parametrize("names", [("a", "A"), ("a", "a "), ("a", "á"), ("ss", "ß"), ("é", "e\u0301")])
    def test_names_compare_exactly(self, parts: Parts, names: tuple[str, str]) -> None:
        keys = sql.idempotency_store(parts.engine)
        assert [keys.claim("scope", name, HOUR, name) for name in names] == [Claimed()] * 2
        assert [keys.claim(name, "key", HOUR, name) for name in names] == [Claimed()] * 2
        assert [keys.claim("scope", name, HOUR, "x") for name in names] == [Taken(name) for name in names]
        first, second = (name.strip() or name for name in names)
        if first != second:  # no queue has outer blanks
            parts.queue.enqueue(new_job(queue=first))
            assert (parts.queue.size(first), parts.queue.size(second)) == (1, 0)
            assert parts.queue.claim(second, "w", 1) == []

    def test_ids_of_rows_are_found_by_their_index_whatever_the_connection_speaks(
        self, mariadb_url: str, engines: Engines, open_parts: Callable[..., Parts]
    ) -> None:
        parts = open_parts(engines(f"{mariadb_url}?charset=latin1"))
        parts.queue.enqueue(new_job())
        (claim,) = parts.queue.claim(LINE, "w", 1)
        assert parts.queue.ack(claim)

    def test_a_url_without_a_database_is_refused(self, mariadb: MariaDbServer, engines: Engines) -> None:
        with pytest.raises(SettingsError, match=r"jobs\.db\.schema"):
            sql.create_jobs_table(engines(mariadb.url()))

    def test_a_schema_is_a_database_of_the_same_server(self, parts: Parts, mariadb: MariaDbServer) -> None:
        with mariadb.database() as url:
            name = str(make_url(url).database)
            with parts.engine.begin() as conn:
                conn.execute(text(f"DROP DATABASE {name}"))
            sql.create_jobs_table(parts.engine, schema=name, table_prefix="x_")
            assert "x_job_queue" in inspect(parts.engine).get_table_names(schema=name)
            queue = sql.job_queue(parts.engine, schema=name, table_prefix="x_")
            with parts.engine.begin() as tx:  # one server commits over its databases at once
                assert queue.enqueue_in_tx(tx, [new_job()]) == [True]
            (claim,) = queue.claim(LINE, "w", 1)
            assert queue.ack(claim)
            assert parts.rows() == (0, 0)
            queue.close()


class TestClock:
    @pytest.mark.parametrize("zone", ["-12:00", "+13:00"])
    def test_it_is_that_of_no_time_zone(
        self, mariadb_url: str, engines: Engines, open_parts: Callable[..., Parts], zone: str
    ) -> None:
        engine = engines(mariadb_url, connect_args={"init_command": f"SET time_zone = '{zone}'"})
        parts = open_parts(engine)
        now = parts.db.read(lambda conn: conn.execute(select(parts.db.dialect.now()), parts.db.clock()).scalar_one())
        assert abs(datetime.fromtimestamp(now / 1_000_000, UTC) - datetime.now(UTC)) < timedelta(seconds=30)

    def test_what_one_statement_writes_has_one_instant(self, parts: Parts) -> None:
        parts.queue.enqueue_many([new_job() for _ in range(300)])
        claims = parts.queue.claim(LINE, "w", 300)
        assert len({claim.claimed_us for claim in claims}) == 1
        queue = parts.db.tables.queue.c
        with parts.engine.connect() as conn:
            rows = conn.execute(select(queue.created_at, queue.updated_at, queue.locked_at).distinct()).all()
        assert len(rows) == 1
        assert rows[0].locked_at == claims[0].claimed_us

    @pytest.mark.fault(54)
    @pytest.mark.parametrize("strategy", ["best", "portable"])
    def test_a_lease_of_half_a_second_is_half_a_second(
        self, mariadb_engine: Engine, open_parts: Callable[..., Parts], strategy: str
    ) -> None:
        parts = open_parts(mariadb_engine)
        lease = timedelta(milliseconds=500)
        queue = sql.job_queue(mariadb_engine, lease=lease, clock_offset=parts.clock_offset, claim_strategy=strategy)
        now = select(parts.db.dialect.now())
        for fraction in range(0, 1_000_000, 50_000):  # claimed at so many microseconds after the full second
            queue.enqueue(new_job())
            clock = parts.db.dialect.clock(parts.clock_offset.us)
            at = parts.db.read(lambda conn, clock=clock: conn.execute(now, clock).scalar_one())  # type: ignore[misc]
            parts.clock_offset.us += (fraction - at) % 1_000_000
            (claim,) = queue.claim(LINE, "w", 1)
            parts.clock_offset.move(timedelta(milliseconds=200))
            assert queue.reclaim_abandoned() == []
            parts.clock_offset.move(timedelta(milliseconds=500))
            assert [one.id for one in queue.reclaim_abandoned()] == [claim.id]
            (claim,) = queue.claim(LINE, "w", 1)
            assert queue.ack(claim)
        queue.close()


class TestLentEngines:
    def test_the_contract_holds_where_the_driver_counts_what_has_changed(self, mariadb_url: str) -> None:
        """SQLAlchemy asks for the count of what was found; an engine with a creator of its own may not."""
        url = make_url(mariadb_url)

        def connect() -> Any:
            return pymysql.connect(host=url.host, port=url.port or 0, user=url.username, database=url.database)

        store = SqlStore(mariadb_url, creator=connect)
        failed = contract.run(lambda: store.backend("mariadb"))
        store.close()
        assert sorted(failed) == sorted(case for name, case in KNOWN_DIFFERENCES if name == "mariadb")

    @pytest.mark.parametrize("level", ["AUTOCOMMIT", "SERIALIZABLE", "READ COMMITTED"])
    def test_each_transaction_is_one_at_read_committed(
        self, mariadb_url: str, engines: Engines, open_parts: Callable[..., Parts], level: str
    ) -> None:
        engine = engines(mariadb_url, isolation_level=level)
        parts = open_parts(engine)

        def broken(conn: Connection, cursor: Any, statement: str, *_: object) -> None:
            if statement.startswith("SELECT") and "job_store" in statement:
                raise OSError("the line is down")

        event.listen(engine, "before_cursor_execute", broken)
        with pytest.raises(BackendUnavailable):
            parts.queue.enqueue(new_job())
        event.remove(engine, "before_cursor_execute", broken)
        assert parts.rows() == (0, 0)
        parts.queue.enqueue_many([new_job(), new_job()])
        with engine.connect() as conn:
            assert driver(conn).get_autocommit() is (level == "AUTOCOMMIT")
            assert level in (conn.get_isolation_level(), "AUTOCOMMIT")
        assert len(parts.queue.claim(LINE, "w", 2)) == 2

    def test_an_autocommit_of_the_driver_is_no_transaction(self, parts: Parts, engines: Engines) -> None:
        engine = engines(parts.engine.url, connect_args={"autocommit": True})
        with engine.begin() as tx, pytest.raises(NotATransaction, match="AUTOCOMMIT"):
            parts.queue.enqueue_in_tx(tx, [new_job()])
        assert parts.rows() == (0, 0)

    def test_the_other_spelling_of_the_url_is_the_same_kind(self, parts: Parts, engines: Engines) -> None:
        engine = engines(parts.engine.url.set(drivername="mariadb+pymysql"))
        with engine.begin() as tx:
            assert parts.queue.enqueue_in_tx(tx, [new_job()]) == [True]
        other = Parts(engine=engine)
        (claim,) = other.queue.claim(LINE, "w", 1)
        assert other.queue.ack(claim)
        other.queue.close()

    def test_there_is_no_news(self, parts: Parts) -> None:
        assert not isinstance(parts.queue, WakingJobQueue)


class TestVersions:
    @pytest.mark.parametrize(
        ("version", "of_mariadb", "skips", "collation"),
        [
            ((10, 6, 0), True, True, "utf8mb4_nopad_bin"),
            ((10, 5, 9), True, False, "utf8mb4_nopad_bin"),
            ((8, 0, 17), False, True, "utf8mb4_0900_bin"),
            ((5, 7, 44), False, False, "utf8mb4_bin"),
        ],
    )
    def test_what_a_server_can_decides(
        self, parts: Parts, version: tuple[int, ...], of_mariadb: bool, skips: bool, collation: str
    ) -> None:
        dialect = MySQL()
        dialect._fit(version, of_mariadb)
        assert dialect.skips_locked is skips
        assert dialect.shape.options["mysql_collate"] == collation
        exchange = dialect.exchange(parts.db, 1)
        assert isinstance(exchange, JoinedExchange if skips else PortableExchange)

    def test_an_old_server_is_never_asked_to_skip(
        self, mariadb_engine: Engine, open_parts: Callable[..., Parts], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(type(mariadb_engine.dialect), "server_version_info", (10, 3, 39), raising=False)
        with mariadb_engine.connect():
            pass  # the first connection tells the version
        mariadb_engine.dialect.server_version_info = (10, 3, 39)
        said: list[str] = []
        event.listen(mariadb_engine, "before_cursor_execute", lambda *call: said.append(call[2].upper()))
        parts = open_parts(mariadb_engine)
        parts.queue.enqueue_many([new_job() for _ in range(3)])
        parts.queue.schedule(new_job(), timedelta(seconds=1))
        first, *_ = parts.queue.claim(LINE, "w", 3)
        assert parts.queue.renew([first]) == {first: Hold.HELD}
        assert parts.queue.settle(completed([first])) == [Answer.APPLIED]
        parts.clock_offset.move(timedelta(minutes=5))
        assert parts.queue.process_scheduled() == 1
        assert len(parts.queue.reclaim_abandoned()) == 2
        assert not [statement for statement in said if "SKIP LOCKED" in statement or "JSON_TABLE" in statement]


class TestOtherTransactions:
    def test_an_open_transaction_of_the_application_is_waited_for_by_nobody(
        self, parts: Parts, mariadb_url: str, engines: Engines
    ) -> None:
        """Its rows are few among few: where a plan would rather read the whole table."""
        quick = engines(mariadb_url, connect_args={"init_command": "SET innodb_lock_wait_timeout = 1"})
        others = Parts(engine=quick, clock_offset=parts.clock_offset)
        object.__setattr__(others.db, "patience", timedelta(0))
        others.queue.enqueue_many([new_job() for _ in range(6)])
        others.queue.schedule(new_job(), timedelta(seconds=1))
        with parts.engine.begin() as tx:
            parts.queue.enqueue_in_tx(tx, [new_job() for _ in range(3)])
            parts.queue.enqueue_in_tx(tx, [new_job()], delay=timedelta(seconds=1))
            parts.queue.enqueue_once("scope", "mine", new_job(), HOUR, tx=tx)
            claims = others.queue.claim(LINE, "w", 4)
            assert len(claims) == 4
            assert set(others.queue.renew(claims).values()) == {Hold.HELD}
            ends = [Settlement(claims[0], Status.COMPLETED), Settlement(claims[1], Status.PENDING)]
            assert others.queue.exchange(ends, LINE, "w", 1)[0] == [Answer.APPLIED] * 2
            assert others.queue.hand_back(claims[2:3]) == 1
            assert others.queue.cancel(new_job().id) is False
            parts.clock_offset.move(timedelta(minutes=5))
            assert others.queue.process_scheduled() == 1
            assert len(others.queue.reclaim_abandoned()) == 2
            assert others.queue.enqueue(new_job())
            assert others.queue.enqueue_once("scope", "theirs", new_job(), HOUR) == Claimed()
            tx.rollback()
        others.queue.close()

    @pytest.mark.parametrize(("waiting", "ends"), [(4, "commit"), (1, "rollback"), (4, "rollback")])
    def test_one_of_many_inserters_of_a_key_gets_it(self, parts: Parts, waiting: int, ends: str) -> None:
        """A rollback leaves those that wait for it, where they are several, in one another's way: they try again."""
        deadlocks: list[object] = []

        @event.listens_for(parts.engine, "handle_error")
        def note(context: Any) -> None:
            deadlocks.append(context.original_exception)

        for key in map(str, range(10)):
            with parts.engine.connect() as first, ThreadPoolExecutor(waiting) as threads:
                tx = first.begin()
                assert parts.queue.enqueue_once("scope", key, new_job(), HOUR, tx=first) == Claimed()
                answers = [
                    threads.submit(parts.queue.enqueue_once, "scope", key, new_job(), HOUR) for _ in range(waiting)
                ]
                threading.Event().wait(0.02)
                tx.commit() if ends == "commit" else tx.rollback()
                told = [answer.result() for answer in answers]
            assert sum(isinstance(answer, Claimed) for answer in told) == (ends == "rollback")
        if (waiting, ends) != (4, "rollback"):
            assert deadlocks == []
        assert parts.rows() == (10, 0)

    def test_a_snapshot_of_the_caller_hides_no_duplicate(self, parts: Parts) -> None:
        job = new_job()
        with parts.engine.connect().execution_options(isolation_level="REPEATABLE READ") as conn, conn.begin():
            assert conn.execute(select(parts.db.tables.queue.c.id)).all() == []
            parts.queue.enqueue(job)
            (claim,) = parts.queue.claim(LINE, "w", 1)
            assert parts.queue.ack(claim)
            fresh = new_job()
            assert parts.queue.enqueue_in_tx(conn, [job, fresh, fresh]) == [False, True, False]
        assert parts.rows() == (1, 1)
        assert [claim.id for claim in parts.queue.claim(LINE, "w", 9)] == [str(fresh.id)]

    def test_a_snapshot_of_the_caller_hides_no_key(self, parts: Parts) -> None:
        first = new_job()
        with parts.engine.connect().execution_options(isolation_level="REPEATABLE READ") as conn, conn.begin():
            conn.execute(select(parts.db.tables.keys.c.name)).all()
            assert parts.queue.enqueue_once("scope", "key", first, HOUR) == Claimed()
            assert parts.queue.enqueue_once("scope", "key", new_job(), HOUR, tx=conn) == Taken(str(first.id))
        assert parts.rows() == (1, 0)

    def test_an_id_on_its_way_to_history_is_a_duplicate(self, parts: Parts) -> None:
        """An insert waits for the transaction that moves it, and is let through by its commit."""
        job = new_job()
        parts.queue.enqueue(job)
        (claim,) = parts.queue.claim(LINE, "w", 1)
        tables = parts.db.tables
        with ThreadPoolExecutor(1) as thread, parts.engine.begin() as mover:
            row = mover.execute(select(tables.queue)).mappings().one()
            shared = {c.name: row[c.name] for c in tables.store.c if c.name in row}
            ended = {**shared, "status": "completed", "completed_at": row["created_at"]}
            mover.execute(insert(tables.store).values(ended))
            mover.execute(tables.queue.delete())
            answer = thread.submit(parts.queue.enqueue, job)
            threading.Event().wait(0.1)
            assert not answer.done()
            mover.commit()
            assert answer.result() is False
        assert parts.rows() == (0, 1)
        assert parts.queue.ack(claim) is False

    @pytest.mark.fault(53)
    @pytest.mark.parametrize("strategy", ["best", "portable"])
    def test_fifteen_workers_get_each_of_many_jobs_once(
        self,
        mariadb_engine: Engine,
        mariadb_url: str,
        engines: Engines,
        open_parts: Callable[..., Parts],
        strategy: str,
    ) -> None:
        engine = engines(mariadb_url, pool_size=40)
        parts = open_parts(engine, strategy=strategy)
        jobs = [new_job() for _ in range(5_000)]
        parts.queue.enqueue_many(jobs)

        def work(name: int) -> list[str]:
            got: list[str] = []
            settled: list[Settlement] = []
            own = sql.job_queue(engine, claim_strategy=strategy)
            while parts.rows()[0]:
                answers, claims = own.exchange(settled, LINE, str(name), 20)
                assert set(answers) <= {Answer.APPLIED}
                own.renew(claims)
                got += [claim.id for claim in claims]
                settled = completed(claims)
            own.close()
            return got

        with ThreadPoolExecutor(15) as workers:
            got = [id for ids in workers.map(work, range(15)) for id in ids]
        assert sorted(got) == sorted(str(job.id) for job in jobs)
        assert parts.rows() == (0, 5_000)


class TestPackets:
    def test_what_is_more_than_a_packet_goes_in_several(self, parts: Parts) -> None:
        jobs = [new_job(metadata={"long": "\U0001f600" * 400_000}) for _ in range(12)]  # 19 MB
        assert all(parts.queue.enqueue_many(jobs))
        claims = [claim for _ in jobs for claim in parts.queue.claim(LINE, "w", 1)]
        result = '"' + "\\\\" * 450_000 + '"'
        ends = [Settlement(claim, Status.COMPLETED, result=result) for claim in claims]
        assert parts.queue.settle(ends) == [Answer.APPLIED] * 12
        assert parts.rows() == (0, 12)

    def test_one_that_is_more_than_a_packet_is_buried_alone(self, parts: Parts) -> None:
        parts.queue.enqueue_many([new_job() for _ in range(3)])
        claims = parts.queue.claim(LINE, "w", 3)
        ends = completed(claims)
        ends[1] = ends[1]._replace(result='"' + "x" * 17_000_000 + '"')
        assert parts.queue.settle(ends) == [Answer.APPLIED] * 3
        statuses = sorted(str(job.status) for job in parts.store.search().jobs)
        assert statuses == ["completed", "completed", "failed"]

    def test_a_batch_ends_before_its_texts_fill_the_memory(self, parts: Parts) -> None:
        sizes = [900_000] * 7 + [20] * 5
        jobs = [new_job(metadata={"long": "#" * size}) for size in sizes]
        parts.queue.enqueue_many(jobs)
        batches: list[list[Claim]] = []
        while claims := parts.queue.claim(LINE, "w", 400):
            batches.append(list(claims))
        assert [claim.id for batch in batches for claim in batch] == [str(job.id) for job in jobs]
        assert [len(batch) for batch in batches] == [4, 8]
        payloads = [claim.payload for batch in batches for claim in batch]
        assert [payload.count("#") for payload in payloads] == sizes
        assert parts.queue.settle(completed(batches[0] + batches[1])) == [Answer.APPLIED] * 12


@pytest.fixture
def small_packets(mariadb: MariaDbServer) -> Iterator[None]:
    """For connections made meanwhile."""
    with mariadb.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.max_allowed_packet")
        [(usual,)] = cursor.fetchall()
        cursor.execute("SET GLOBAL max_allowed_packet = 1048576")
        yield
        cursor.execute(f"SET GLOBAL max_allowed_packet = {usual}")


@pytest.mark.usefixtures("small_packets")
class TestSmallPackets:
    @pytest.mark.parametrize("before", [0, 1])  # a connection that has been used hears of the refusal in another way
    def test_a_job_that_is_more_is_refused_and_others_are_stored(self, before: int, parts: Parts) -> None:
        for _ in range(before):
            assert parts.queue.enqueue(new_job(metadata={"long": "x" * 900_000}))
        with pytest.raises(InvalidJob, match="max_allowed_packet"):
            parts.queue.enqueue_many([new_job(), new_job(metadata={"long": "\U0001f600" * 300_000})])
        assert parts.rows() == (before, 0)
        assert all(parts.queue.enqueue_many([new_job(metadata={"long": "é" * 100_000}) for _ in range(20)]))

    @pytest.mark.parametrize("status", [Status.COMPLETED, Status.RETRYING])
    def test_a_settlement_that_is_more_is_buried_alone(self, status: Status, parts: Parts) -> None:
        parts.queue.enqueue_many([new_job() for _ in range(12)])
        claims = parts.queue.claim(LINE, "w", 12)
        ends = [Settlement(claim, Status.COMPLETED, result='"' + "x" * 200_000 + '"') for claim in claims]
        long = "\U0001f600" * 300_000
        payload = None if status.terminal else claims[5].payload.replace("ann", long)
        ends[5] = Settlement(claims[5], status, payload=payload, result=f'"{long}"' if status.terminal else None)
        assert parts.queue.settle(ends) == [Answer.APPLIED] * 12
        [dead] = parts.store.failed_jobs().jobs
        assert str(dead.id) == claims[5].id
        assert dead.error is not None
        assert "max_allowed_packet" in dead.error.message
        assert parts.rows() == (0, 12)


class TestCharacters:
    URL_OPTIONS = "?charset=utf8mb3"

    def test_an_engine_that_would_lose_some_is_refused(self, mariadb_url: str, engines: Engines) -> None:
        engine = engines(mariadb_url + self.URL_OPTIONS, connect_args={"init_command": "SET sql_mode = ''"})
        with pytest.raises(SettingsError, match=r"utf8mb3.*charset=utf8mb4"):
            sql.create_jobs_table(engine)

    def test_a_transaction_that_would_lose_some_is_refused(
        self, parts: Parts, mariadb_url: str, engines: Engines
    ) -> None:
        engine = engines(mariadb_url + self.URL_OPTIONS, connect_args={"init_command": "SET sql_mode = ''"})
        with engine.begin() as tx, pytest.raises(NotATransaction, match=r"utf8mb3.*charset=utf8mb4"):
            parts.queue.enqueue_in_tx(tx, [new_job(metadata={"said": "\U0001f600"})])
        assert parts.rows() == (0, 0)


def mysql_plans(parts: Parts, work: Callable[[], object]) -> list[tuple[str, list[Any]]]:
    """Statements on the tables of jobs, each with its plan: (table, access, index, extra)."""
    plans: list[tuple[str, list[Any]]] = []
    busy = threading.local()

    def explain(conn: Connection, cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        if statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT")) and "job_" in statement:
            if getattr(busy, "now", False) or "VALUES" in statement:
                return
            one = (parameters[0] if parameters else None) if isinstance(parameters, list) else parameters
            with conn.connection.dbapi_connection.cursor() as other:  # type: ignore[union-attr]
                other.execute(f"EXPLAIN {statement}", one)
                plans.append((statement, [(row[2], row[3], row[5], row[9]) for row in other.fetchall()]))

    event.listen(parts.engine, "before_cursor_execute", explain)
    work()
    event.remove(parts.engine, "before_cursor_execute", explain)
    return plans


@pytest.mark.parametrize("state", ["empty", "loaded", "analysed"])
@pytest.mark.parametrize("strategy", ["best", "portable"])
def test_rows_are_found_by_index_whatever_the_statistics_say(
    mariadb_engine: Engine, open_parts: Callable[..., Parts], state: str, strategy: str
) -> None:
    parts = open_parts(mariadb_engine, strategy=strategy)
    queue = parts.queue
    if state != "empty":
        queue.enqueue_many([new_job() for _ in range(2_000)])
        queue.enqueue_many([new_job() for _ in range(2_000)], delay=HOUR)
        queue.claim(LINE, "w", 500)
    if state == "analysed":
        with mariadb_engine.connect() as conn:
            conn.execute(text("ANALYZE TABLE job_queue, job_store"))

    def work() -> None:
        queue.enqueue_many([new_job() for _ in range(10)])
        queue.schedule(new_job(), timedelta(seconds=1))
        claims: list[Claim] = list(queue.claim(LINE, "w", 5))
        queue.renew(claims)
        queue.exchange([*completed(claims[:3]), Settlement(claims[3], Status.PENDING)], LINE, "w", 5)
        queue.next_due()
        queue.hand_back(claims[4:])
        parts.clock_offset.move(timedelta(minutes=5))
        queue.process_scheduled()
        queue.reclaim_abandoned()
        sql.idempotency_store(parts.engine).purge()

    plans = mysql_plans(parts, work)
    for statement, plan in plans:
        for table, access, index, extra in plan:
            if table in (None, "given", "listed") or str(table).startswith("<"):
                continue
            assert access not in ("ALL",), (statement, plan)
            assert index, (statement, plan)
            if "LIMIT" in statement:
                assert "filesort" not in (extra or ""), (statement, plan)
    used = {index for _, plan in plans for _, _, index, _ in plan}
    assert {"job_queue_ready", "job_queue_lease", "job_queue_id"} <= used
