"""Which workers there are: one row a worker, which it writes itself and which nothing but a reader looks at."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import BigInteger, Connection, Integer, Row, Text, bindparam, delete, select, update

from wagoe_jobs.adapters.sql.connections import Database, refusing
from wagoe_jobs.adapters.sql.rows import micros
from wagoe_jobs.ports import (
    BATCH_LIMIT,
    GONE_AFTER,
    RUNNING_LIMIT,
    Beat,
    PresentWorker,
    RunningJob,
    WorkerCard,
)

_US = timedelta(microseconds=1)


class SqlWorkerPresence:
    """WorkerPresence, each method one transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        w, now = db.tables.workers.c, db.dialect.now()
        this = w.name == bindparam("p_name", type_=Text)
        heard_of, gone = w.beat_at > now - micros(GONE_AFTER), w.beat_at <= now - micros(GONE_AFTER)
        card: dict[str, Any] = {
            "host": bindparam("p_host", type_=Text),
            "pid": bindparam("p_pid", type_=BigInteger),
            "version": bindparam("p_version", type_=Text),
            "queues": bindparam("p_queues", type_=Text),
            "job_types": bindparam("p_types", type_=Text),
            "slots": bindparam("p_slots", type_=Integer),
            "started_at": bindparam("p_started", type_=BigInteger),
        }
        news: dict[str, Any] = {
            "beat_at": now,
            "polled_at": now - bindparam("p_polled", type_=BigInteger),
            "running": bindparam("p_running", type_=Text),
            "running_count": bindparam("p_count", type_=Integer),
        }
        self._now = select(now)
        self._replace = update(db.tables.workers).where(this).values(**card, **news)
        self._new = db.dialect.insert_new(db.tables.workers, {"name": bindparam("p_name", type_=Text), **card, **news})
        self._beat = update(db.tables.workers).where(this, heard_of).values(**news)
        self._leave = delete(db.tables.workers).where(this, heard_of)
        self._gone = select(w.name).where(gone).order_by(w.name).limit(BATCH_LIMIT)
        self._drop = delete(db.tables.workers).where(w.name.in_(bindparam("p_names", expanding=True)), gone)
        told = (w.name, w.host, w.pid, w.version, w.queues, w.job_types, w.slots, w.started_at, w.polled_at)
        self._all = select(*told, w.running, w.running_count, (now - w.beat_at).label("age_us")).where(heard_of)

    @refusing("card")
    def announce(self, card: WorkerCard) -> WorkerCard:
        def keep(conn: Connection) -> WorkerCard:
            self._drop_those(conn, self._gone_names(conn))
            kept = replace(card, started_us=card.started_us or self._store_now(conn))
            given = {**_card_values(kept), **_news(Beat()), **self._db.clock()}
            if conn.execute(self._replace, given).rowcount != 1:
                conn.execute(self._new, given)
            return kept

        return self._db.write(keep)

    @refusing("beat")
    def beat(self, name: str, beat: Beat) -> bool:
        given = {"p_name": name, **_news(beat)}
        return self._db.write(lambda conn: conn.execute(self._beat, {**given, **self._db.clock()}).rowcount == 1)

    @refusing("name")
    def leave(self, name: str) -> bool:
        given = {"p_name": name}
        return self._db.write(lambda conn: conn.execute(self._leave, {**given, **self._db.clock()}).rowcount == 1)

    def list(self) -> Sequence[PresentWorker]:
        def look(conn: Connection) -> tuple[Sequence[Row[*tuple[Any, ...]]], Sequence[str]]:
            return conn.execute(self._all, self._db.clock()).all(), self._gone_names(conn)

        found, gone = self._db.read(look)
        if gone:  # a write of its own: those who only look do not wait for those who write
            self._db.write(lambda conn: self._drop_those(conn, gone))
        return sorted((_present(row) for row in found), key=lambda worker: worker.card.name)

    def _store_now(self, conn: Connection) -> int:
        return conn.execute(self._now, self._db.clock()).scalar_one()

    def _gone_names(self, conn: Connection) -> Sequence[str]:
        return conn.execute(self._gone, self._db.clock()).scalars().all()

    def _drop_those(self, conn: Connection, names: Sequence[str]) -> None:
        if names:
            conn.execute(self._drop, {"p_names": names, **self._db.clock()})


def _card_values(card: WorkerCard) -> Mapping[str, Any]:
    return {
        "p_name": card.name,
        "p_host": card.host,
        "p_pid": card.pid,
        "p_version": card.version,
        "p_queues": json.dumps(list(card.queues)),
        "p_types": json.dumps(list(card.job_types)),
        "p_slots": card.slots,
        "p_started": card.started_us,
    }


def _news(beat: Beat) -> Mapping[str, Any]:
    return {
        "p_polled": None if beat.polled is None else micros(beat.polled),
        "p_running": json.dumps(list(beat.running[:RUNNING_LIMIT])),
        "p_count": beat.running_count,
    }


def _present(row: Row[*tuple[Any, ...]]) -> PresentWorker:
    return PresentWorker(
        card=WorkerCard(
            name=row.name,
            host=row.host,
            pid=row.pid,
            version=row.version,
            queues=tuple(json.loads(row.queues)),
            job_types=tuple(json.loads(row.job_types)),
            slots=row.slots,
            started_us=row.started_at,
        ),
        age=row.age_us * _US,
        polled_us=row.polled_at,
        running=tuple(RunningJob(*job) for job in json.loads(row.running)),
        running_count=row.running_count,
    )
