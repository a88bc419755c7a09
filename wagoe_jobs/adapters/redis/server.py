"""What a server says of itself that those have to know who trust it with jobs."""

import logging
from collections.abc import Mapping, Sequence

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.errors import SettingsError

log = logging.getLogger("wagoe_jobs.redis")

OLDEST = (6, 2)


def check_server(redis: Redis) -> None:
    """Make sure that a server answers, and warn of what is wrong with it for jobs.

    Raises BackendUnavailable, and SettingsError for one that is too old.
    """
    told = _told(redis)
    version = told.get("redis_version", "")  # Valkey tells here which redis it is like
    if version and _numbers(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise SettingsError("jobs.redis", f"the server is redis {version}: {oldest} is the oldest that will do")
    for warning in _warnings(told):
        log.warning("redis: %s", warning)


def warnings(redis: Redis) -> Sequence[str]:
    """What is wrong with the server for jobs, a sentence each. Raises BackendUnavailable."""
    return _warnings(_told(redis))


def version_of(redis: Redis) -> str:
    """The kind of server and its version, for people. Raises BackendUnavailable."""
    told = _told(redis)
    if "valkey_version" in told:
        return f"valkey {told['valkey_version']}"
    return f"redis {told.get('redis_version', 'of unknown version')}"


def _warnings(told: Mapping[str, str]) -> Sequence[str]:
    found = []
    policy = told.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        found.append(f"maxmemory-policy is {policy}, which throws jobs away when memory runs out: set noeviction")
    if told.get("aof_enabled") == "0":
        found.append("appendonly is no: a crash loses the jobs enqueued since the last snapshot: set it to yes")
    return found


def _told(redis: Redis) -> Mapping[str, str]:
    sections = redis.ask(("INFO", "server"), ("INFO", "memory"), ("INFO", "persistence"))
    lines = (line.partition(":") for section in sections for line in section.splitlines())
    return {name: value for name, colon, value in lines if colon}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
