"""The one way into history: a queue row is copied there and removed, in the same transaction.

Used by settle, reclaim, hand-back and cancel, so that a job is never in both tables and never in none.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, Connection, String, Text, bindparam, delete, func, insert, select

from wagoe_jobs.adapters.sql.connections import Conflict, Database
from wagoe_jobs.adapters.sql.many import Many
from wagoe_jobs.core.job import Status

_COPIED = ("id", "queue", "priority_rank", "execute_at", "created_at", "type", "tenant")


class History:
    """Takes in rows that the transaction has locked."""

    def __init__(self, db: Database) -> None:
        self._db = db
        q, now = db.tables.queue.c, db.dialect.now()
        values = {
            **{name: q[name] for name in _COPIED},
            # without one, the last that settled a run of it, so that a lost reply is known even now
            "token": func.coalesce(bindparam("p_token", type_=String), q.last_token),
            "status": bindparam("p_status", type_=String),
            "updated_at": now,
            "completed_at": now,
            "started_at": q.locked_at + bindparam("p_waited", type_=BigInteger),
            "ran_us": bindparam("p_ran", type_=BigInteger),
            "abandoned": q.abandoned + bindparam("p_lost", type_=BigInteger),
            "result": bindparam("p_result", type_=Text),
            "error": bindparam("p_error", type_=Text),
            "payload": func.coalesce(bindparam("p_payload", type_=Text), q.payload),
        }
        rows = select(*(value.label(name) for name, value in values.items())).where(
            q.id == bindparam("p_id", type_=q.id.type)
        )
        self._copy = Many(insert(db.tables.store).from_select(list(values), rows), db.engine.dialect)
        self._remove = db.dialect.by_ids(delete(db.tables.queue).where(db.dialect.among(q.id)), db.tables.queue)

    def move(self, conn: Connection, ends: Sequence[Mapping[str, Any]]) -> None:
        """Move each row that an `end` names. Raises Conflict when one has gone since it was read."""
        if not ends:
            return
        clock = self._db.clock()
        self._copy.run(conn, [{**end, **clock} for end in ends])
        removed = conn.execute(self._remove, {"ids": self._db.dialect.ids([end["p_id"] for end in ends])})
        if removed.rowcount != len(ends):
            raise Conflict


def end(
    id: str,
    status: Status,
    *,
    token: str | None = None,
    result: str | None = None,
    error: str | None = None,
    payload: str | None = None,
    waited_us: int | None = None,
    ran_us: int | None = None,
    lost: int = 0,
) -> dict[str, Any]:
    """One row's parameters for `History.move`; `waited_us` None leaves its start unknown, as `payload` the text."""
    return {
        "p_id": id,
        "p_status": str(status),
        "p_token": token,
        "p_result": result,
        "p_error": error,
        "p_payload": payload,
        "p_waited": waited_us,
        "p_ran": ran_us,
        "p_lost": lost,
    }
