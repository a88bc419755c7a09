"""Idempotency keys: taken once until they expire, by the store's clock."""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import BigInteger, Connection, Text, bindparam, delete, select, update

from wagoe_jobs.adapters.sql.connections import Database, refusing
from wagoe_jobs.adapters.sql.rows import micros
from wagoe_jobs.ports import BATCH_LIMIT, Claimed, Taken

_KEY_LIMIT = 200


class Keys:
    """Claims keys inside a transaction that can write."""

    def __init__(self, db: Database) -> None:
        self._db = db
        k, now = db.tables.keys.c, db.dialect.now()
        this = (k.scope == bindparam("p_scope", type_=Text), k.name == bindparam("p_name", type_=Text))
        values = {
            "value": bindparam("p_value", type_=Text),
            "expires_at": now + bindparam("p_ttl", type_=BigInteger),
        }
        row = {"scope": bindparam("p_scope", type_=Text), "name": bindparam("p_name", type_=Text), **values}
        self._take = db.dialect.insert_new(db.tables.keys, row)
        self._take_over = update(db.tables.keys).where(*this, k.expires_at <= now).values(**values)
        self._value = db.dialect.current(select(k.value).where(*this))
        self._seen = select(k.name).where(*this, k.expires_at > now)
        self._release = delete(db.tables.keys).where(*this, k.expires_at > now)
        self._purge = db.dialect.delete_first(db.tables.keys, k.expires_at <= now, k.expires_at)

    def claim(self, conn: Connection, scope: str, key: str, ttl: timedelta, value: str) -> Claimed | Taken:
        given = {**self._which(scope, key), "p_value": value, "p_ttl": micros(ttl)}
        if self._db.dialect.was_new(conn.execute(self._take, given)):
            return Claimed()
        if conn.execute(self._take_over, given).rowcount == 1:
            return Claimed()
        taken = conn.execute(self._value, given).scalar()
        # purged or released between the two: free now, and the next try takes it
        return self.claim(conn, scope, key, ttl, value) if taken is None else Taken(taken)

    def seen(self, conn: Connection, scope: str, key: str) -> bool:
        return conn.execute(self._seen, self._which(scope, key)).first() is not None

    def release(self, conn: Connection, scope: str, key: str) -> bool:
        return conn.execute(self._release, self._which(scope, key)).rowcount == 1

    def purge(self, conn: Connection, limit: int) -> int:
        return conn.execute(self._purge, {"p_limit": limit, **self._db.clock()}).rowcount

    def _which(self, scope: str, key: str) -> Mapping[str, Any]:
        return {"p_scope": _fitting(scope), "p_name": _fitting(key), **self._db.clock()}


class SqlIdempotencyStore:
    """IdempotencyStore, each method one transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._keys = Keys(db)

    @refusing("key")
    def claim(self, scope: str, key: str, ttl: timedelta, value: str) -> Claimed | Taken:
        return self._db.write(lambda conn: self._keys.claim(conn, scope, key, ttl, value))

    @refusing("key")
    def seen(self, scope: str, key: str) -> bool:
        return self._db.read(lambda conn: self._keys.seen(conn, scope, key))

    @refusing("key")
    def release(self, scope: str, key: str) -> bool:
        return self._db.write(lambda conn: self._keys.release(conn, scope, key))

    def purge(self, limit: int = BATCH_LIMIT) -> int:
        return self._db.write(lambda conn: self._keys.purge(conn, min(limit, BATCH_LIMIT)))


def _fitting(name: str) -> str:
    """The name, or a digest of one that is longer than any index takes."""
    if len(name) <= _KEY_LIMIT and "\0" not in name:
        return name
    return "sha256:" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
