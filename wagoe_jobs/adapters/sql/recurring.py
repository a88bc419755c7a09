"""Recurring schedules, their last ticks, and the lease of the one ticker that fires them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import BigInteger, Connection, SmallInteger, String, Text, bindparam, delete, null, or_, select, update

from wagoe_jobs.adapters.sql.connections import Database, refusing
from wagoe_jobs.adapters.sql.rows import micros
from wagoe_jobs.ports import Schedule

_ONLY = 1


class SqlRecurringState:
    """RecurringState, each method one transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        r, now = db.tables.recurring.c, db.dialect.now()
        this = r.type == bindparam("p_type", type_=Text)
        wanted: dict[str, Any] = {
            "text": bindparam("p_text", type_=Text),
            "queue": bindparam("p_queue", type_=Text),
            "priority_rank": bindparam("p_rank", type_=SmallInteger),
            "args": bindparam("p_args", type_=Text),
        }
        fresh = {"type": bindparam("p_type", type_=Text), "first_seen": now}
        self._new = db.dialect.insert_new(db.tables.recurring, {**fresh, **wanted})
        changed = {"first_seen": now, "last_tick": null()}
        self._retime = update(db.tables.recurring).where(this, r.text != wanted["text"]).values(**changed)
        self._refresh = update(db.tables.recurring).where(this).values(**wanted)
        columns = (r.type, r.text, r.queue, r.priority_rank, r.args, r.first_seen, r.last_tick)
        self._one = select(*columns).where(this)
        self._all = select(*columns)
        self._forget = delete(db.tables.recurring).where(this)
        tick = bindparam("p_tick", type_=BigInteger)
        self._tick = (
            update(db.tables.recurring)
            .where(this, or_(r.last_tick.is_(None), r.last_tick < tick))
            .values(last_tick=tick)
        )
        self._ticker = TickerLease(db)

    @refusing("schedule")
    def register(self, schedule: Schedule) -> Schedule:
        given = {
            "p_type": schedule.type,
            "p_text": schedule.text,
            "p_queue": schedule.queue,
            "p_rank": schedule.rank,
            "p_args": schedule.args,
        }

        def keep(conn: Connection) -> Schedule:
            timed = {**given, **self._db.clock()}
            if not self._db.dialect.was_new(conn.execute(self._new, timed)):
                conn.execute(self._retime, timed)
                conn.execute(self._refresh, given)
            return Schedule(*conn.execute(self._one, given).one())

        return self._db.write(keep)

    @refusing("type")
    def unregister(self, type: str) -> bool:
        return self._db.write(lambda conn: conn.execute(self._forget, {"p_type": type}).rowcount == 1)

    def schedules(self) -> Sequence[Schedule]:
        found = self._db.read(lambda conn: conn.execute(self._all).all())
        return sorted((Schedule(*row) for row in found), key=lambda schedule: schedule.type)

    @refusing("type")
    def mark_tick(self, type: str, tick_us: int) -> bool:
        given = {"p_type": type, "p_tick": tick_us}
        return self._db.write(lambda conn: conn.execute(self._tick, given).rowcount == 1)

    @refusing("holder")
    def hold(self, holder: str, lease: timedelta) -> bool:
        return self._db.write(lambda conn: self._ticker.hold(conn, holder, lease))

    @refusing("holder")
    def let_go(self, holder: str) -> bool:
        return self._db.write(lambda conn: self._ticker.let_go(conn, holder))


class TickerLease:
    """The lease of the one ticker, in the only row of its table; acts inside a transaction that can write."""

    def __init__(self, db: Database) -> None:
        self._db = db
        t, now = db.tables.ticker.c, db.dialect.now()
        holder = bindparam("p_holder", type_=String)
        until = now + bindparam("p_lease", type_=BigInteger)
        self._first = db.dialect.insert_new(db.tables.ticker, {"id": _ONLY, "holder": holder, "lease_until": until})
        self._hold = (
            update(db.tables.ticker)
            .where(t.id == _ONLY, or_(t.holder == holder, t.holder.is_(None), t.lease_until <= now))
            .values(holder=holder, lease_until=until)
        )
        self._let_go = (
            update(db.tables.ticker)
            .where(t.id == _ONLY, t.holder == holder, t.lease_until > now)
            .values(holder=null(), lease_until=0)
        )

    def hold(self, conn: Connection, holder: str, lease: timedelta) -> bool:
        given = {"p_holder": holder, "p_lease": micros(lease), **self._db.clock()}
        return conn.execute(self._hold, given).rowcount == 1 or self._db.dialect.was_new(
            conn.execute(self._first, given)
        )

    def let_go(self, conn: Connection, holder: str) -> bool:
        return conn.execute(self._let_go, {"p_holder": holder, **self._db.clock()}).rowcount == 1
