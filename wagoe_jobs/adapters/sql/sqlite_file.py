"""Whether a connection to SQLite still is one to the file of its name.

A file that is removed, or replaced as by a restored backup, lives on for those who have it open: they would go on
writing what nobody else ever reads.
"""

import os

from sqlalchemy import Connection

from wagoe_jobs.errors import BackendUnavailable

_KEPT = "wagoe_jobs_file"


def check_there(conn: Connection) -> None:
    """Raises BackendUnavailable, and lets the pool forget the connection, when its file is no longer there.

    What it is compared with is noted when a connection is first used here.
    """
    if _KEPT not in conn.info:
        path = next((file for _, name, file in conn.exec_driver_sql("PRAGMA database_list") if name == "main"), "")
        conn.info[_KEPT] = path, _identity(path)
    path, identity = conn.info[_KEPT]
    if path and (identity is None or _identity(path) != identity):
        conn.invalidate()
        raise BackendUnavailable("db", f"the file {path} was removed or replaced while it was in use")


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
