"""What the driver raises, turned into this library's errors; nowhere else does a driver's exception end.

Texts name the server and what it said, never a password or a job.
"""

from redis.exceptions import (
    AskError,
    AuthenticationError,
    ClusterDownError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.sentinel import MasterNotFoundError

from wagoe_jobs.errors import BackendUnavailable

BACKEND = "redis"
FOREIGN = (RedisError, RedisClusterException, OSError)
"""Everything by which the driver tells that a call failed."""

# the server is not the one to ask any more, or not for this user: the next call dials anew
_ELSEWHERE = (ReadOnlyError, AskError, ClusterDownError, AuthenticationError)


class RefusedData(Exception):
    """A value that the store cannot take; `reason` is for people. Never leaves the adapter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def unavailable(error: Exception) -> BackendUnavailable:
    """The error to raise instead of the driver's."""
    code = getattr(error, "status_code", None)
    told = str(error).partition("\n")[0]
    if isinstance(error, MasterNotFoundError):  # what follows are reprs of the driver's clients
        told = told.partition(" : ")[0]
    if isinstance(error, AskError):  # its text is only a number and an address
        told = f"the keys live on another node of the cluster ({told}): give cluster = true"
    prefix = f"{code} " if isinstance(code, str) and not told.startswith(code) else ""
    return BackendUnavailable(BACKEND, f"{type(error).__name__}: {prefix}{told}"[:300])


def ends_connection(error: ResponseError) -> bool:
    """Whether an error reply says that another connection should be asked next time."""
    return isinstance(error, _ELSEWHERE)
