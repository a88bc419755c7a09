"""The tables, defined once. What differs between databases comes in as a `Shape`, which a dialect gives.

A job is in exactly one of `queue` (ready, scheduled, in flight) and `store` (history and dead letters).
Instants are BIGINT microseconds since 1970 UTC, exact on every database.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
    false,
    literal_column,
    text,
)
from sqlalchemy import (
    Sequence as DbSequence,
)
from sqlalchemy.types import TypeEngine

from wagoe_jobs.core.job import NAME_LIMIT
from wagoe_jobs.errors import SettingsError

SCHEMA_VERSION = 1

# Literals, never parameters: a planner uses a partial index only for a condition that it can see.
READY: ColumnElement[str] = literal_column("'ready'", String)
SCHEDULED: ColumnElement[str] = literal_column("'scheduled'", String)
PROCESSING: ColumnElement[str] = literal_column("'processing'", String)
FAILED: ColumnElement[str] = literal_column("'failed'", String)

_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,29}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a database wants of the tables.

    `key` names the queue's primary key: where rows are stored in its order, the place in the line is the
    better one. `partial` is the index option that takes a condition, None without partial indexes. `options`
    are those of each table.
    """

    id: TypeEngine[str]
    text: TypeEngine[str]
    integer: TypeEngine[int]
    key: Literal["id", "seq"]
    sequence: bool
    partial: str | None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tables of one schema and prefix.

    Places come from the sequence `line`, else from the numbers that `counter` gives out, else from the queue's own key.
    """

    metadata: MetaData
    queue: Table
    store: Table
    keys: Table
    recurring: Table
    ticker: Table
    workers: Table
    version: Table
    line: DbSequence | None
    counter: Table | None

    def index(self, use: Literal["ready", "due", "lease"]) -> Index:
        """The index of the queue by which such rows are found."""
        found = {str(index.name).rpartition("_")[2]: index for index in self.queue.indexes}
        return found.get(use) or found["lease"]

    @property
    def jobs(self) -> Sequence[Table]:
        return (self.version, self.queue, self.store, *([] if self.counter is None else [self.counter]))

    @property
    def recurrence(self) -> Sequence[Table]:
        return (self.version, self.keys, self.recurring, self.ticker)

    @property
    def presence(self) -> Sequence[Table]:
        return (self.version, self.workers)

    @property
    def all(self) -> Sequence[Table]:
        return (*self.jobs, self.keys, self.recurring, self.ticker, self.workers)


def make_tables(shape: Shape, schema: str | None, prefix: str) -> Tables:
    """The tables as `shape` wants them. Raises SettingsError for a prefix that is no plain name."""
    if prefix and not _PREFIX.fullmatch(prefix):
        raise SettingsError("jobs.db.table_prefix", f"{prefix!r} must be at most 30 letters, digits and underscores")
    metadata = MetaData(schema=schema)
    line = DbSequence(f"{prefix}job_line", metadata=metadata, schema=schema) if shape.sequence else None
    return Tables(
        metadata=metadata,
        queue=_queue(metadata, shape, prefix, line),
        store=_store(metadata, shape, prefix),
        keys=_keys(metadata, shape, prefix),
        recurring=_recurring(metadata, shape, prefix),
        ticker=_ticker(metadata, shape, prefix),
        workers=_workers(metadata, shape, prefix),
        version=_version(metadata, shape, prefix),
        line=line,
        counter=_counter(metadata, shape, prefix) if shape.key == "id" and not shape.sequence else None,
    )


def _queue(metadata: MetaData, shape: Shape, prefix: str, line: DbSequence | None) -> Table:
    by_seq = shape.key == "seq"
    place = None if line is None else line.next_value()
    seq: Column[int] = Column("seq", shape.integer, primary_key=by_seq, nullable=False, server_default=place)
    return Table(
        f"{prefix}job_queue",
        metadata,
        Column("id", shape.id, primary_key=not by_seq, nullable=False),
        seq,
        Column("queue", String(NAME_LIMIT), nullable=False),
        Column("priority_rank", SmallInteger, nullable=False),
        Column("status", String(10), nullable=False),
        Column("retrying", Boolean, nullable=False, server_default=false()),
        Column("execute_at", BigInteger),
        Column("locked_by", shape.text),
        Column("locked_at", BigInteger),
        Column("lease_until", BigInteger),
        # before the token: an update sets columns in this order, and on MySQL sees those that it has set already
        Column("last_token", String(32)),
        Column("token", String(32)),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        Column("type", String(NAME_LIMIT), nullable=False),
        Column("tenant", shape.text),
        Column("budget", Integer, nullable=False),
        Column("abandoned", Integer, nullable=False, server_default=text("0")),
        Column("interrupted", Boolean, nullable=False, server_default=false()),
        Column("cancel_requested", Boolean, nullable=False, server_default=false()),
        Column("payload", shape.text, nullable=False),
        *([UniqueConstraint("id", name=f"{prefix}job_queue_id")] if by_seq else []),
        *_queue_indexes(shape, prefix, by_seq),
        **shape.options,
    )


def _queue_indexes(shape: Shape, prefix: str, by_seq: bool) -> Sequence[Index]:
    line = ("queue", "priority_rank") if by_seq else ("queue", "priority_rank", "seq")
    ready: ColumnElement[bool] = literal_column("status = 'ready'")
    if (
        shape.partial is None
    ):  # every row is in every index, so that a claim pays for each: one for all waits for a time
        return (
            _index(shape, f"{prefix}job_queue_ready", line, ready),
            _index(shape, f"{prefix}job_queue_lease", ("lease_until", "execute_at", "seq"), True),
            # beside the primary key, which is the table: a hint for it would not keep a planner from reading all
            Index(f"{prefix}job_queue_id", "id"),
        )
    return (
        _index(shape, f"{prefix}job_queue_ready", line, ready),
        # A job that was abandoned before is claimed alone: the claim must see at once whether there is one. Its last
        # column gives an order that no other index has: among equals, an empty table's plan would take any of them.
        _index(
            shape, f"{prefix}job_queue_lone", (*line, "abandoned"), literal_column("status = 'ready' AND abandoned > 0")
        ),
        _index(shape, f"{prefix}job_queue_due", ("execute_at",), literal_column("status = 'scheduled'")),
        _index(shape, f"{prefix}job_queue_lease", ("lease_until",), literal_column("status = 'processing'")),
    )


def _counter(metadata: MetaData, shape: Shape, prefix: str) -> Table:
    return Table(f"{prefix}job_line", metadata, Column("n", shape.integer, primary_key=True), **shape.options)


def _store(metadata: MetaData, shape: Shape, prefix: str) -> Table:
    return Table(
        f"{prefix}job_store",
        metadata,
        Column("id", shape.id, primary_key=True),
        Column("queue", String(NAME_LIMIT), nullable=False),
        Column("priority_rank", SmallInteger, nullable=False),
        Column("status", String(10), nullable=False),
        Column("execute_at", BigInteger),
        Column("token", String(32)),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        Column("started_at", BigInteger),
        Column("completed_at", BigInteger, nullable=False),
        Column("ran_us", BigInteger),
        Column("type", String(NAME_LIMIT), nullable=False),
        Column("tenant", shape.text),
        Column("abandoned", Integer, nullable=False),
        Column("result", shape.text),
        Column("error", shape.text),
        Column("payload", shape.text, nullable=False),
        _index(shape, f"{prefix}job_store_ended", ("completed_at",), None),
        _index(shape, f"{prefix}job_store_failed", ("id",), literal_column("status = 'failed'")),
        **shape.options,
    )


def _keys(metadata: MetaData, shape: Shape, prefix: str) -> Table:
    return Table(
        f"{prefix}job_idempotency_keys",
        metadata,
        Column("scope", String(NAME_LIMIT), primary_key=True),
        Column("name", String(255), primary_key=True),
        Column("value", shape.text, nullable=False),
        Column("expires_at", BigInteger, nullable=False),
        _index(shape, f"{prefix}job_keys_expiry", ("expires_at",), None),
        **shape.options,
    )


def _recurring(metadata: MetaData, shape: Shape, prefix: str) -> Table:
    return Table(
        f"{prefix}job_recurring",
        metadata,
        Column("type", String(NAME_LIMIT), primary_key=True),
        Column("text", shape.text, nullable=False),
        Column("queue", String(NAME_LIMIT), nullable=False),
        Column("priority_rank", SmallInteger, nullable=False),
        Column("args", shape.text, nullable=False),
        Column("first_seen", BigInteger, nullable=False),
        Column("last_tick", BigInteger),
        **shape.options,
    )


def _ticker(metadata: MetaData, shape: Shape, prefix: str) -> Table:
    return Table(
        f"{prefix}job_ticker",
        metadata,
        Column("id", SmallInteger, primary_key=True, autoincrement=False),
        Column("holder", String(NAME_LIMIT)),
        Column("lease_until", BigInteger, nullable=False),
        **shape.options,
    )


def _workers(metadata: MetaData, shape: Shape, prefix: str) -> Table:
    return Table(
        f"{prefix}job_workers",
        metadata,
        Column("name", String(NAME_LIMIT), primary_key=True),
        Column("host", String(NAME_LIMIT), nullable=False),
        Column("pid", BigInteger, nullable=False),
        Column("version", String(NAME_LIMIT), nullable=False),
        Column("queues", shape.text, nullable=False),
        Column("job_types", shape.text, nullable=False),
        Column("slots", Integer, nullable=False),
        Column("started_at", BigInteger, nullable=False),
        Column("beat_at", BigInteger, nullable=False),
        Column("polled_at", BigInteger),
        Column("running", shape.text, nullable=False),
        Column("running_count", Integer, nullable=False),
        **shape.options,
    )


def _version(metadata: MetaData, shape: Shape, prefix: str) -> Table:
    return Table(
        f"{prefix}job_schema",
        metadata,
        Column("id", SmallInteger, primary_key=True, autoincrement=False),
        Column("version", Integer, nullable=False),
        Column("store_id", String(32), nullable=False),
        Column("created_at", BigInteger, nullable=False),
        **shape.options,
    )


def _index(shape: Shape, name: str, columns: Sequence[str], where: Any) -> Index:
    if where is None:
        return Index(name, *columns)
    if shape.partial is None:
        return Index(name, "status", *columns)
    return Index(name, *columns, **{shape.partial: where})
