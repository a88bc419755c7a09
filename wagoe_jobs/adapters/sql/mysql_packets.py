"""How long one statement may be: the server's `max_allowed_packet`, which it answers by hanging up when it is more.

The driver then tells of a lost connection, as it does in an outage. What is not told apart is sent for ever.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.exc import DBAPIError

from wagoe_jobs.adapters.sql.many import PACKET

USUAL = 16 * 1024 * 1024
"""What MariaDB takes unless its settings say else."""

_REFUSED = 1153
_LOST = frozenset({2006, 2013})
_DOUBLED = "\0\n\r\x1a\"'\\"
_SHARE = 10
"""A packet has room for so many times its characters: four bytes each, escapes, and what stands beside them."""


def characters(limit: int) -> int:
    """How many characters of long values go into one statement together."""
    return min(PACKET, limit // _SHARE)


def too_long(error: DBAPIError, limit: int) -> bool:
    """Whether this is how a server with this limit refuses a statement.

    It says so and hangs up. Sometimes that is heard, and its answer hides behind the error of a rollback; sometimes
    the connection is lost while the statement is sent.
    """
    behind: BaseException | None = error
    while behind is not None:
        if isinstance(behind, DBAPIError) and _refuses(behind, limit):
            return True
        behind = behind.__context__ if _code(error) in _LOST else None
    return False


def _refuses(error: DBAPIError, limit: int) -> bool:
    if _code(error) in _LOST:
        return len(error.statement or "") + _length(error.params) >= limit
    return bool(_code(error) == _REFUSED)


def _code(error: DBAPIError) -> Any:
    return error.orig.args[0] if error.orig is not None and error.orig.args else None


def _length(given: Any) -> int:
    """Bytes of the parameters as they are sent; of the longest row where there are several."""
    match given:
        case str():
            return len(given.encode("utf-8", "replace")) + sum(map(given.count, _DOUBLED))
        case list():
            return max(map(_length, given), default=0)
        case tuple():
            return sum(map(_length, given))
        case Mapping():
            return sum(map(_length, given.values()))
        case _:
            return 0
