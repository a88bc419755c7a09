"""What to do about a database that cannot be used as it is set up, in words for people.

Drivers tell what is wrong, but neither where nor what helps. No text holds a password.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import URL

_RIGHTS = "grant this user the right, or let one who has it run `wagoe-jobs db upgrade`"
_LOGIN = "correct user and password in jobs.db.url"
_NAME = "create the database, or correct its name in jobs.db.url"
_READ_ONLY = "the jobs need a server, a user and a database that may write"
_NOBODY = "see whether the server is up, and whether jobs.db.url has its host and port"

_SQLITE = {
    8: "let this user write the file and its folder",
    11: "restore it from a backup",
    13: "make room",
    14: "it must be a file, in a folder that this user may write",
    26: "it is something else than an SQLite database: name another file in jobs.db.url",
}
_POSTGRES = {
    "42501": _RIGHTS,
    "25006": _READ_ONLY,
    "28000": _LOGIN,
    "28P01": _LOGIN,
    "3D000": _NAME,
    "53100": "make room",
}
# by words, since the driver has no code for what ends before a session begins
_POSTGRES_LOGIN = {
    "password": _LOGIN,
    'FATAL:  role "': _LOGIN,
    'FATAL:  database "': _NAME,
    "no pg_hba.conf entry": "let pg_hba.conf allow this user, database and address",
    "permission denied": _RIGHTS,
}
_POSTGRES_NOBODY = ("connection failed", "failed to resolve host", "connection timeout", "Multiple connection attempts")
_MYSQL = {
    1021: "make room",
    1044: _RIGHTS,
    1045: _LOGIN,
    1049: _NAME,
    1142: _RIGHTS,
    1290: _READ_ONLY,
    1698: _LOGIN,
    1792: _READ_ONLY,
    1836: _READ_ONLY,
    2003: _NOBODY,
}
MYSQL_SETUP = frozenset({1044, 1045, 1049, 1142, 1698})
SQLITE_SETUP = frozenset({8, 11, 14, 26})


def place(url: URL) -> str:
    """Where the database is: the file, or the URL, its password hidden, without a query that may hold one."""
    if url.get_backend_name() != "sqlite":
        return url.set(query={}).render_as_string()
    name = (url.database or "").removeprefix("file:").partition("?")[0]
    return str(Path(name).absolute()) if name else ""


def sqlite_advice(code: int) -> str:
    return _SQLITE.get(code, "")


def postgres_advice(error: Any) -> str:
    state, said = getattr(error, "sqlstate", None), str(error)
    if state:
        return _POSTGRES.get(state, "")
    if refused := postgres_login(error):
        return refused
    return _NOBODY if said.startswith(_POSTGRES_NOBODY) else ""


def postgres_login(error: Any) -> str:
    """What to do about a server that lets nobody in like this; empty when that is not what happened."""
    said = "" if getattr(error, "sqlstate", None) else str(error)
    if "starting up" in said or not said.startswith(_POSTGRES_NOBODY):
        return ""
    return next((advice for words, advice in _POSTGRES_LOGIN.items() if words in said), "")


def mysql_advice(code: object) -> str:
    return _MYSQL.get(code, "") if isinstance(code, int) else ""


def sentence(error: object) -> str:
    """The first line of what the driver tells, without its codes."""
    told = getattr(error, "args", ())
    text = told[-1] if told and isinstance(told[-1], str) else str(error)
    return text.strip().partition("\n")[0].rstrip(".")
