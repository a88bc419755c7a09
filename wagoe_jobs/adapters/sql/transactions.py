"""Which of the caller's objects is an open transaction of this database, and why the others are not.

The check is worth its statements: a job stored outside the business transaction is the fault that
transactional enqueue exists to rule out. Which database an engine leads to is asked once per engine.
"""

from contextlib import suppress
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, inspect, select
from sqlalchemy.exc import InvalidRequestError, NoResultFound, UnboundExecutionError
from sqlalchemy.orm import Session, scoped_session
from sqlalchemy.pool import Pool

from wagoe_jobs.adapters.sql.connections import Database, translating
from wagoe_jobs.adapters.sql.dialects import alike
from wagoe_jobs.errors import NotATransaction, SchemaMismatch

_ASYNC_HINT = (
    "the queue is synchronous: give Jobs.aenqueue(tx=...) an AsyncConnection or AsyncSession in a transaction, or "
    "await tx.run_sync(lambda sync: queue.enqueue_in_tx(sync, jobs))"
)
_OTHER_DATABASE = "the transaction is of another database than the queue"


class Transactions:
    """Finds the Connection behind `tx`."""

    def __init__(self, db: Database) -> None:
        """Asks which database this is: later, an event loop might wait for it. Raises BackendUnavailable."""
        self._db = db
        self._own_id: str | None = None
        self._ids: WeakKeyDictionary[Pool, str | None] = WeakKeyDictionary()
        self._store_id = select(db.tables.version.c.store_id).where(db.tables.version.c.id == 1)
        with suppress(SchemaMismatch, NoResultFound):  # tables that are still to be made: asked when it is needed
            self._own()

    def connection(self, tx: object) -> Connection:
        """The connection to write on. Raises NotATransaction, which says what to pass instead."""
        with translating(self._db.dialect):
            conn = self._current(tx)
            if not alike(conn.engine, self._db.engine):
                raise NotATransaction(_OTHER_DATABASE)
            self._check_open(conn)
            self._check_store(conn)
            return conn

    def _current(self, tx: object) -> Connection:
        match tx:
            case Connection():
                return tx
            case scoped_session():
                return self._of_session(tx())
            case Session():
                return self._of_session(tx)
            case Engine():
                raise NotATransaction("an Engine is no transaction: pass the Connection of `engine.begin()`")
            case _ if _asynchronous(tx):
                raise NotATransaction(f"{type(tx).__name__}: {_ASYNC_HINT}")
            case _:
                raise NotATransaction(f"{type(tx).__name__} is neither an SQLAlchemy Connection nor a Session")

    def _of_session(self, session: Session) -> Connection:
        if not session.in_transaction() or not session.is_active:
            raise NotATransaction("the Session has no open transaction: begin one, and commit after the enqueue")
        try:
            bind = session.get_bind(clause=self._db.tables.queue)
            return bind if isinstance(bind, Connection) else session.connection(bind_arguments={"bind": bind})
        except UnboundExecutionError:
            raise NotATransaction(
                "the Session binds no engine to the jobs tables: pass session.connection(bind_arguments=...)"
            ) from None
        except InvalidRequestError as exc:
            raise NotATransaction(f"the Session cannot be used now: {exc}") from exc

    def _check_open(self, conn: Connection) -> None:
        if conn.closed:
            raise NotATransaction("the Connection is closed")
        if conn.invalidated:
            raise NotATransaction("the Connection was lost, and its transaction with it")
        innermost = conn.get_nested_transaction() or conn.get_transaction()
        if innermost is None:
            raise NotATransaction("the Connection has no open transaction: use `with engine.begin() as connection`")
        if not innermost.is_active or not conn.in_transaction():
            raise NotATransaction("the transaction of this Connection has ended")
        if not self._db.dialect.in_transaction(conn):
            raise NotATransaction("the Connection is in AUTOCOMMIT: every statement would be on its own")

    def _check_store(self, conn: Connection) -> None:
        if conn.engine.pool is self._db.engine.pool:
            return
        if self._id_behind(conn) != self._own():
            raise NotATransaction(_OTHER_DATABASE)

    def _id_behind(self, conn: Connection) -> str | None:
        pool = conn.engine.pool
        if pool not in self._ids:
            # asked first: a statement that fails would spoil the caller's transaction
            version = self._db.tables.version
            there = inspect(conn).has_table(version.name, schema=version.schema)
            self._ids[pool] = conn.execute(self._store_id).scalar() if there else None
        return self._ids[pool]

    def _own(self) -> str:
        if self._own_id is None:
            own: str = self._db.read(lambda conn: conn.execute(self._store_id).scalar_one())
            self._own_id = own
        return self._own_id


def _asynchronous(tx: object) -> bool:
    # by name, since the module can be imported only where greenlet is installed
    return any(kind.__module__.startswith("sqlalchemy.ext.asyncio") for kind in type(tx).__mro__)
