"""What must be known of a server before it is trusted with jobs: that it answers, its version, and what is wrong."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.errors import SettingsError

log = logging.getLogger("wagoe_jobs.redis")

OLDEST = (6, 2)


class ServerInfo(NamedTuple):
    """Kind and version; what is wrong for jobs, a sentence each; how many clients it allows, None if unsaid."""

    version: str
    warnings: Sequence[str]
    max_clients: int | None


def check_server(redis: Redis) -> None:
    """Make sure that a server answers, and log what is wrong with it for jobs.

    Raises BackendUnavailable, and SettingsError for one that is too old.
    """
    info = _info(redis)
    version = info.get("redis_version", "")  # Valkey tells here which redis it is like
    if version and _numbers(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise SettingsError("jobs.redis", f"the server is redis {version}: {oldest} is the oldest that will do")
    for level, text in _faults(info):
        log.log(level, "redis: %s", text)


def server_info(redis: Redis) -> ServerInfo:
    """What the server says, for people. Raises BackendUnavailable."""
    info = _info(redis)
    most = info.get("maxclients", "")
    return ServerInfo(_version(info), [text for _, text in _faults(info)], int(most) if most.isdigit() else None)


def _version(info: Mapping[str, str]) -> str:
    if "valkey_version" in info:
        return f"valkey {info['valkey_version']}"
    return f"redis {info.get('redis_version', 'of unknown version')}"


def _faults(info: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Each with its level of the log: no append-only file is a choice that some make, evicting jobs is none."""
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        text = f"maxmemory-policy is {policy}, which throws jobs away when memory runs out: set noeviction"
        yield logging.WARNING, text
    if info.get("aof_enabled") == "0":
        yield logging.INFO, "appendonly is no: a crash loses the jobs enqueued since the last snapshot: set it to yes"


def _info(redis: Redis) -> Mapping[str, str]:
    sections = redis.ask(*(("INFO", section) for section in ("server", "clients", "memory", "persistence")))
    lines = (line.partition(":") for section in sections for line in section.splitlines())
    return {name: value for name, colon, value in lines if colon}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
