"""What the adapter asks of a database; `dialects` chooses who answers, once at open."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Delete,
    Engine,
    Executable,
    Index,
    Insert,
    Integer,
    Select,
    Table,
    Update,
    bindparam,
    delete,
    select,
    tuple_,
)
from sqlalchemy.exc import DBAPIError

from wagoe_jobs.adapters.sql.tables import Shape, Tables
from wagoe_jobs.ports import Answer, Claim, Settlement, WakeUp

if TYPE_CHECKING:  # these are made of what a dialect says
    from wagoe_jobs.adapters.sql.connections import Database
    from wagoe_jobs.adapters.sql.enqueue import Enqueuer

Locking = TypeVar("Locking", Select[*tuple[Any, ...]], Update, Delete)


class Verdict(Enum):
    """What an error of the database means for the caller."""

    RETRY = auto()
    """Another transaction was in the way; the same again may succeed."""
    LOCKED = auto()
    """The same, since it kept something locked for as long as that is waited for."""
    DATA = auto()
    """A value cannot be stored as it is."""
    TOO_LONG = auto()
    """The same, since a statement with it is more than the server reads."""
    SCHEMA = auto()
    """A table or column is not there."""
    DUPLICATE = auto()
    SETUP = auto()
    """The database is there, but this user, name or file cannot be used: time mends nothing."""
    DOWN = auto()
    """The database did not answer, or cannot."""


class Dialect(Protocol):
    """What the adapter asks of a database. A statement part comes with the function that makes its parameters."""

    @property
    def shape(self) -> Shape: ...

    @property
    def skips_locked(self) -> bool:
        """Whether a locking read can pass by what another transaction has locked."""
        ...

    def now(self) -> ColumnElement[int]:
        """The store's clock in microseconds since 1970, as an expression with parameters from `clock`."""
        ...

    def clock(self, offset_us: int) -> Mapping[str, int]:
        """The parameters of `now`, to be taken when the transaction has begun."""
        ...

    def among(self, column: ColumnElement[str]) -> ColumnElement[bool]:
        """`column` is one of the ids that `ids` made the parameter `ids` of."""
        ...

    def ids(self, ids: Sequence[str]) -> object: ...

    def keep(self, conn: Connection, timeout: timedelta) -> None:
        """Bound what a connection that is kept waits for, also where its engine is lent."""
        ...

    def octets(self, column: ColumnElement[str]) -> ColumnElement[int]:
        """How many bytes a text has."""
        ...

    def insert_new(self, table: Table, values: Mapping[str, Any]) -> Insert:
        """An insert that leaves a row with this key as it is; `was_new` tells."""
        ...

    def was_new(self, result: CursorResult[Any]) -> bool:
        """Whether the row of `insert_new` was not there yet."""
        ...

    def delete_first(self, table: Table, where: ColumnElement[bool], order: ColumnElement[Any]) -> Delete:
        """A delete of the first rows in `order` of those that are meant, as many as the parameter `p_limit`."""
        ...

    def by_id(self, statement: Locking, table: Table) -> Locking:
        """The statement, bound to find its rows by their ids: a scan would wait for rows that it does not want."""
        ...

    def by_ids(self, removal: Delete, table: Table) -> Executable:
        """The delete of the rows among `ids`, bound likewise, whatever part of the table they are."""
        ...

    def by_index(self, statement: Locking, index: Index) -> Locking:
        """The statement, bound to an index where the planner may think better of it."""
        ...

    def current(self, statement: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
        """A read of one row that is there, as it is now, also inside a caller's older snapshot."""
        ...

    def schema(self, engine: Engine, wanted: str | None) -> str | None:
        """The schema to qualify tables with, so that a changed search path redirects nothing.

        The first question to a database: what depends on its version is chosen here.
        """
        ...

    def isolate(self, conn: Connection) -> Connection:
        """The connection, at the isolation that conditional writes need, whatever the engine's default is."""
        ...

    def reading(self, conn: Connection) -> Connection:
        """The connection, for statements that only read, each as of its own moment: without round trips around them."""
        ...

    def begin(self, conn: Connection) -> None:
        """Begin a write on a connection fresh from the pool: what it reads, it may write."""
        ...

    def settle_down(self, db: "Database") -> None:
        """Set what is kept with the database itself, before tables are made."""
        ...

    def schema_lock(self, conn: Connection, tables: Tables) -> AbstractContextManager[None]:
        """Let one creator in at a time, at least until the block ends."""
        ...

    def begin_in(self, conn: Connection, tables: Tables) -> None:
        """Make sure that the caller's transaction can write after it has read."""
        ...

    def in_transaction(self, conn: Connection) -> bool:
        """Whether a commit or rollback of this connection decides over what is written now."""
        ...

    def places(self, conn: Connection, tables: Tables, count: int) -> Sequence[int]:
        """`count` new places at the end of the line, ascending."""
        ...

    def verdict(self, error: DBAPIError) -> Verdict: ...

    def advice(self, error: DBAPIError) -> str:
        """Where the database is and what to do, for people; empty where the driver's words are all there is."""
        ...

    def tell(self, conn: Connection, tables: Tables, queues: Iterable[str]) -> None:
        """Wake the pools of these queues at the commit, where the database can."""
        ...

    def enqueuer(self, db: "Database") -> "Enqueuer": ...

    def exchange(self, db: "Database", lease_us: int) -> "Exchange":
        """The fastest exchange that is safe here."""
        ...


@runtime_checkable
class WakingDialect(Dialect, Protocol):
    """A database that gives news."""

    def wake_up(self, db: "Database", queue: str) -> WakeUp: ...


class Exchange(Protocol):
    """How claims are settled and made; see `JobQueue.exchange`. Raises RefusedData and then has done nothing."""

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]: ...

    def close(self) -> None: ...


class Planned:
    """The parts of a dialect whose planner finds rows by their index, and whose row counts tell what was inserted."""

    skips_locked = True

    def was_new(self, result: CursorResult[Any]) -> bool:
        return result.rowcount == 1

    def delete_first(self, table: Table, where: ColumnElement[bool], order: ColumnElement[Any]) -> Delete:
        keys = tuple(table.primary_key.columns)
        first = select(*keys).where(where).order_by(order).limit(bindparam("p_limit", type_=Integer))
        return delete(table).where(tuple_(*keys).in_(first))

    def by_id(self, statement: Locking, table: Table) -> Locking:
        return statement

    def by_ids(self, removal: Delete, table: Table) -> Executable:
        return removal

    def by_index(self, statement: Locking, index: Index) -> Locking:
        return statement

    def current(self, statement: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
        return statement
