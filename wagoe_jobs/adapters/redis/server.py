"""What a server says of itself that those have to know who trust it with jobs."""

import logging
from collections.abc import Iterator, Mapping, Sequence

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.errors import SettingsError

log = logging.getLogger("wagoe_jobs.redis")

OLDEST = (6, 2)


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


def warnings(redis: Redis) -> Sequence[str]:
    """What is wrong with the server for jobs, a sentence each. Raises BackendUnavailable."""
    return [text for _, text in _faults(_told(redis))]


def version_of(redis: Redis) -> str:
    """The kind of server and its version, for people. Raises BackendUnavailable."""
    told = _told(redis)
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
    sections = redis.ask(("INFO", "server"), ("INFO", "memory"), ("INFO", "persistence"))
    lines = (line.partition(":") for section in sections for line in section.splitlines())
    return {name: value for name, colon, value in lines if colon}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
