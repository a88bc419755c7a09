"""Settle and claim on PostgreSQL in one statement, on a connection that is kept for it.

The statement deletes the settled rows by id and token, returning them into history, and claims the next batch by
physical address from a scan that locks what nobody else is claiming. Its plan must not depend on statistics,
which a queue never has right: the connection has settings of its own, and never goes back to the pool.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    SmallInteger,
    String,
    Text,
    and_,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import UUID
from sqlalchemy.types import TypeEngine

from wagoe_jobs.adapters.sql.claim import new_token, taken
from wagoe_jobs.adapters.sql.connections import Database, Held, driver
from wagoe_jobs.adapters.sql.locks import LOCK_SECONDS, Answers, PastLocks
from wagoe_jobs.adapters.sql.postgres_arrays import array, texts, unnested
from wagoe_jobs.adapters.sql.settle import Key, first_of_each, in_order
from wagoe_jobs.adapters.sql.tables import PROCESSING, READY
from wagoe_jobs.adapters.sql.unanswered import Unanswered
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import BATCH_BYTES, Answer, Claim, Settlement

_address: ColumnElement[Any] = literal_column("ctid")
_LAST_RANK = 32_767
_LAST_SEQ = 2**63 - 1

_SETTLED: Sequence[tuple[str, TypeEngine[Any]]] = (
    ("p_id", UUID(as_uuid=False)),
    ("p_token", Text()),
    ("p_status", Text()),
    ("p_result", Text()),
    ("p_error", Text()),
    ("p_payload", Text()),
    ("p_waited", BigInteger()),
    ("p_ran", BigInteger()),
)
_SETTINGS = {
    "lock_timeout": f"{LOCK_SECONDS}s",
    "plan_cache_mode": "force_generic_plan",
    **{f"enable_{kind}": "off" for kind in ("seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin")},
}


class OneStatementExchange:
    """The exchange for PostgreSQL."""

    def __init__(self, db: Database, lease_us: int) -> None:
        self._db = db
        self._lease_us = lease_us
        self._held = Held(db, prepare, autocommit=True)
        self._past_locks = PastLocks(db)
        self._both = exchange_statement(db, settle=True, claim=True)
        self._settle_only = exchange_statement(db, settle=True, claim=False)
        self._claim_only = exchange_statement(db, settle=False, claim=True)
        self._again = repair_statement(db)
        self._unanswered = Unanswered(db, lease_us, self._found)

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        first, settle = first_of_each(settlements), self._past_locks.settle
        follow_ups = settle([s for s in first.values() if not s.status.terminal])
        ends = {key: s for key, s in first.items() if s.status.terminal}
        # an old and the present claim of one job differ in their tokens, which the statement does not tell: one a job
        one_each = {s.claim.id: s for s in ends.values()}
        with self._unanswered.repaired(queue, worker, limit) as claims:
            most = 0 if claims else limit
            ended, new = self._past_locks.exchange(
                list(one_each.values()), lambda some: self._send(some, queue, worker, most)
            )
            claims += new
            missed = settle([s for key, s in ends.items() if key not in ended])  # of the statement: settled, or lost
        return in_order(settlements, {**follow_ups, **ended, **missed}), claims

    def close(self) -> None:
        self._held.close()

    def _send(self, ends: Sequence[Settlement], queue: str, worker: str, limit: int) -> tuple[Answers, Sequence[Claim]]:
        """The answers of what was settled, and the claims."""
        if not ends and limit <= 0:
            return {}, ()
        token = new_token()
        given: dict[str, Any] = {**self._db.clock()}
        if ends:
            given |= _arrays(ends)
        if limit > 0:
            given |= {"p_queue": queue, "p_worker": worker, "p_token_new": token, "p_limit": limit}
            given["p_lease"] = self._lease_us
        statement = self._claim_only if not ends else self._both if limit > 0 else self._settle_only

        def work(conn: Connection) -> Sequence[Any]:
            return conn.execute(statement, given).all()

        try:
            rows = self._held.write(self._past_locks.noticed(work) if ends else work)
        except BackendUnavailable:
            if limit > 0:
                self._unanswered.add(queue, token)
            raise
        settled, claims = _read(rows, ends, queue, token)
        return dict.fromkeys(settled, Answer.APPLIED), claims

    def _found(self, conn: Connection, token: str, queue: str, worker: str) -> list[Claim]:
        given = {"p_token": token, "p_worker": worker, "p_lease": self._lease_us, **self._db.clock()}
        return _claims(conn.execute(self._again, given).all(), queue, token)


def prepare(conn: Connection) -> None:
    """Make plans on this connection independent of statistics, and bound its waits for locks."""
    conn.execute(select(*(func.set_config(name, value, False) for name, value in _SETTINGS.items())))
    raw = driver(conn)
    if raw.prepare_threshold is not None:  # None: the application has a pooler that cannot keep statements
        raw.prepare_threshold = 0


def exchange_statement(db: Database, *, settle: bool, claim: bool) -> Select[*tuple[Any, ...]] | Any:
    """One row a claim, and one that counts what was settled, naming it when that is less than was given."""
    parts: list[Select[*tuple[Any, ...]]] = []
    if claim:
        won = _won(db)
        parts.append(select(won.c.id, won.c.payload, won.c.priority_rank, won.c.seq, won.c.locked_at, won.c.abandoned))
    if settle:
        moved, w = _moved(db), bindparam("p_count", type_=BigInteger)
        names = case((func.count() < w, cast(func.array_agg(moved.c.id), Text)))
        nothing = cast(null(), Text), cast(null(), SmallInteger), func.count(), cast(null(), BigInteger)
        parts.append(select(names, *nothing, cast(null(), Integer)).select_from(moved))
    return union_all(*parts) if len(parts) > 1 else parts[0]


def repair_statement(db: Database) -> Any:
    q = db.tables.queue.c
    values = {name: value for name, value in taken(db).items() if name != "token"}
    return (
        update(db.tables.queue)
        .where(q.status == PROCESSING, q.token == bindparam("p_token", type_=String))
        .values(**values)
        .returning(cast(q.id, Text), q.payload, q.priority_rank, q.seq, q.locked_at, q.abandoned)
    )


def _moved(db: Database) -> CTE:
    """Settled rows, deleted from the queue and put into history."""
    q, s = db.tables.queue.c, db.tables.store
    given = unnested(_SETTLED)
    g = given.c
    ended = (
        delete(db.tables.queue)
        .where(q.id == g.p_id, q.token == g.p_token)
        .returning(
            q.id, q.queue, q.priority_rank, q.execute_at, q.created_at, q.type, q.tenant, q.abandoned, g.p_token,
            case((and_(q.cancel_requested, g.p_status != "completed"), "cancelled"), else_=g.p_status).label("status"),
            (q.locked_at + g.p_waited).label("started_at"), g.p_ran, g.p_result, g.p_error,
            func.coalesce(g.p_payload, q.payload).label("payload"),
        )
        .cte("ended")
    )  # fmt: skip
    e, now = ended.c, db.dialect.now()
    rows = {
        "id": e.id, "queue": e.queue, "priority_rank": e.priority_rank, "execute_at": e.execute_at,
        "created_at": e.created_at, "type": e.type, "tenant": e.tenant, "abandoned": e.abandoned, "token": e.p_token,
        "status": e.status, "started_at": e.started_at, "ran_us": e.p_ran, "result": e.p_result, "error": e.p_error,
        "payload": e.payload, "updated_at": now, "completed_at": now,
    }  # fmt: skip
    return insert(s).from_select(list(rows), select(*rows.values())).returning(s.c.id).cte("moved")


def _won(db: Database) -> CTE:
    """The next batch, claimed. One that was abandoned before comes alone, and ends the batch before it."""
    q = db.tables.queue.c
    ready = (q.queue == bindparam("p_queue", type_=Text), q.status == READY)
    lone = _lone(db, ready)
    end = tuple_(
        func.coalesce(select(lone.c.priority_rank).scalar_subquery(), _LAST_RANK),
        func.coalesce(select(lone.c.seq).scalar_subquery(), _LAST_SEQ),
    )
    line = (
        select(_address.label("address"), db.dialect.octets(q.payload).label("size"))
        .where(*ready, tuple_(q.priority_rank, q.seq) < end)
        .order_by(q.priority_rank, q.seq)
        .limit(bindparam("p_limit", type_=Integer))
        .with_for_update(skip_locked=True)
        .subquery("line")
    )
    total = func.sum(line.c.size).over(rows=(None, 0)).label("total")
    summed = select(line.c.address, line.c.size, total).subquery("summed")
    few = or_(summed.c.total <= BATCH_BYTES, summed.c.total == summed.c.size)  # the first, however long
    batch = func.array(select(summed.c.address).where(few).scalar_subquery())
    alone = func.array(select(lone.c.address).scalar_subquery())
    chosen = func.coalesce(func.nullif(batch, literal_column("'{}'::tid[]")), alone)
    values = {**taken(db), "token": bindparam("p_token_new", type_=String)}
    return (
        update(db.tables.queue)
        .where(_address == func.any(chosen))
        .values(**values)
        .returning(
            cast(q.id, Text).label("id"), q.payload, q.priority_rank, q.seq, q.locked_at, q.abandoned
        )
        .cte("won")
    )  # fmt: skip


def _lone(db: Database, ready: Sequence[ColumnElement[bool]]) -> CTE:
    """The first job in line that was abandoned before."""
    q = db.tables.queue.c
    return (
        select(q.priority_rank, q.seq, _address.label("address"))
        .where(*ready, q.abandoned > literal_column("0"))  # as the index says it: no parameter, no other form
        .order_by(q.priority_rank, q.seq, q.abandoned)  # what only that index gives; no two rows share a place
        .limit(1)
        .with_for_update(skip_locked=True)
        .cte("lone")
    )


def _arrays(ends: Sequence[Settlement]) -> Mapping[str, Any]:
    # in the order of ids, as every writer of claimed rows locks them
    ends = sorted(ends, key=lambda s: s.claim.id)
    return {
        "p_id": array(s.claim.id for s in ends),
        "p_token": array(s.claim.token for s in ends),
        "p_status": array(str(s.status) for s in ends),
        "p_result": texts([s.result for s in ends]),
        "p_error": texts([s.error for s in ends]),
        "p_payload": texts([s.payload for s in ends]),
        "p_waited": array(s.waited_us for s in ends),
        "p_ran": array(s.ran_us for s in ends),
        "p_count": len(ends),
    }


def _read(
    rows: Sequence[Any], ends: Sequence[Settlement], queue: str, token: str
) -> tuple[Iterable[Key], Sequence[Claim]]:
    keys = [(s.claim.id, s.claim.token) for s in ends]
    if not ends:
        return (), _claims(rows, queue, token)
    (told,) = (row for row in rows if row[1] is None)
    if told[3] < len(ends):
        named = set((told[0] or "{}").strip("{}").split(","))
        keys = [key for key in keys if key[0] in named]
    return keys, _claims((row for row in rows if row[1] is not None), queue, token)


def _claims(rows: Iterable[Any], queue: str, token: str) -> list[Claim]:
    found = [Claim(id, token, queue, payload, rank, seq, at, lost) for id, payload, rank, seq, at, lost in rows]
    found.sort(key=_place)
    return found


def _place(claim: Claim) -> tuple[int, int]:
    return claim.rank, claim.seq
