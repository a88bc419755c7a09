"""What a server says of itself that those have to know who trust it with jobs."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.errors import SettingsError

log = logging.getLogger("wagoe_jobs.redis")

OLDEST = (6, 2)


class Told(NamedTuple):
    """Kind and version, what is wrong for jobs in a sentence each, and how many clients may be connected, if told."""

    version: str
    warnings: Sequence[str]
    most_clients: int | None


def check_server(redis: Redis) -> None:
    """Make sure that a server answers, and log what is wrong with it for jobs.

    Raises BackendUnavailable, and SettingsError for one that is too old.
    """
    told = _told(redis)
    version = told.get("redis_version", "")  # Valkey tells here which redis it is like
    if version and _numbers(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise SettingsError("jobs.redis", f"the server is redis {version}: {oldest} is the oldest that will do")
    for level, text in _faults(told):
        log.log(level, "redis: %s", text)


def told_by(redis: Redis) -> Told:
    """What the server says, for people. Raises BackendUnavailable."""
    told = _told(redis)
    most = told.get("maxclients", "")
    return Told(_version(told), [text for _, text in _faults(told)], int(most) if most.isdigit() else None)


def _version(told: Mapping[str, str]) -> str:
    if "valkey_version" in told:
        return f"valkey {told['valkey_version']}"
    return f"redis {told.get('redis_version', 'of unknown version')}"


def _faults(told: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Each with its level of the log: no append-only file is a choice that some make, evicting jobs is none."""
    policy = told.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        text = f"maxmemory-policy is {policy}, which throws jobs away when memory runs out: set noeviction"
        yield logging.WARNING, text
    if told.get("aof_enabled") == "0":
        yield logging.INFO, "appendonly is no: a crash loses the jobs enqueued since the last snapshot: set it to yes"


def _told(redis: Redis) -> Mapping[str, str]:
    sections = redis.ask(*(("INFO", section) for section in ("server", "clients", "memory", "persistence")))
    lines = (line.partition(":") for section in sections for line in section.splitlines())
    return {name: value for name, colon, value in lines if colon}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
