"""The settings of the jobs block: every key, its default, its range and what cannot go together.

Names that end in `_ms`, `_days` carry their unit; the properties without it are what the code works with.
Values are never coerced: a number in quotes, or true for 1, is refused.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, model_validator

from wagoe_jobs.core.job import Priority
from wagoe_jobs.core.outcome import Patience
from wagoe_jobs.core.retry import Backoff, Strategy
from wagoe_jobs.settings.later import refuse_absent
from wagoe_jobs.settings.names import Refused, Table
from wagoe_jobs.settings.values import (
    DAY,
    HOUR,
    SECOND,
    Args,
    AutoOrBool,
    DatabaseUrl,
    Days,
    Host,
    Hours,
    Interval,
    Name,
    Names,
    Nodes,
    Prefix,
    Provider,
    RedisUrl,
    Reference,
    Secret,
    Span,
    Text,
    Zone,
    host_and_port,
    log,
)


class DbSettings(Table):
    """`jobs.db`: where the tables are. `url` is not needed when the application lends its engine.

    `timeout_ms` is how long one answer of the database may take; an engine that is lent has its own.
    """

    url: DatabaseUrl | None = None
    schema_name: Text | None = Field(default=None, alias="schema", max_length=63)
    table_prefix: str = Field(default="", max_length=30, pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")
    timeout_ms: Span = 10_000


class SentinelSettings(Table):
    """`jobs.redis.sentinel`: the sentinels, of which any tells where the primary of `service` is.

    `username` and `password` are for the sentinels themselves; those beside this table are for the servers.
    """

    service: Text
    nodes: Nodes
    username: Text | None = None
    password: Secret | None = None

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """Host and port of each sentinel."""
        return tuple(host_and_port(node) for node in self.nodes)


class RedisSettings(Table):
    """`jobs.redis`: a url, or host and port and what goes with them, or sentinels that know the server.

    Not needed when the application lends its client. `timeout_ms` is how long one answer may take.
    """

    url: RedisUrl | None = None
    host: Host = "localhost"
    port: Annotated[int, Field(ge=1, le=65_535)] = 6379
    db: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    username: Text | None = None
    password: Secret | None = None
    ssl: bool = False
    prefix: Prefix = "{wagoe}:"
    sentinel: SentinelSettings | None = None
    cluster: bool = False
    timeout_ms: Span = 10_000

    @model_validator(mode="after")
    def _one_address(self) -> "RedisSettings":
        address = "url" if self.url is not None else "sentinel" if self.sentinel is not None else "cluster"
        for name in _EXCLUDED[address] if getattr(self, address) else ():
            if name in self.model_fields_set and getattr(self, name) not in (None, False):
                raise Refused(name, f"cannot be given together with {address}: {_INSTEAD[address]}")
        return self

    @property
    def names_a_server(self) -> bool:
        """Whether anything here says where redis is, or who we are there."""
        fields = type(self).model_fields
        return any(getattr(self, name) != fields[name].default for name in (*_EXCLUDED["url"], "url", "cluster"))

    @property
    def timeout(self) -> timedelta:
        return _ms(self.timeout_ms)


_EXCLUDED = {
    "url": ("host", "port", "db", "username", "password", "ssl", "sentinel"),
    "sentinel": ("host", "port", "cluster"),
    "cluster": ("db",),
}
_INSTEAD = {
    "url": "the url says it all, as rediss://user:password@host:6379/0",
    "sentinel": "its nodes tell where the server is",
    "cluster": "a cluster has database 0 alone",
}


class RetrySettings(Table):
    """`jobs.workers.retry_config`: how long a failed job waits."""

    backoff_strategy: Literal["exponential", "linear", "constant"] = "exponential"
    initial_delay_ms: Span = 1_000
    max_delay_ms: Span = 60_000
    jitter: bool = True

    @model_validator(mode="after")
    def _ordered(self) -> "RetrySettings":
        if self.initial_delay_ms > self.max_delay_ms:
            raise Refused("initial_delay_ms", f"must not exceed max_delay_ms, which is {self.max_delay_ms}")
        return self

    @property
    def backoff(self) -> Backoff:
        return Backoff(
            strategy=Strategy(self.backoff_strategy),
            initial=_ms(self.initial_delay_ms),
            max_delay=_ms(self.max_delay_ms),
            jitter=self.jitter,
        )


class WorkersSettings(Table):
    """`jobs.workers`: one pool per queue, each with `count` slots. `count` = 0 runs nothing, which is a web node."""

    count: Annotated[int, Field(ge=0, le=10_000)] = 1
    queues: Names = ("default",)
    queue_name: Name | None = None
    processes: Annotated[int, Field(ge=1, le=256)] = 1
    virtual_threads: bool = False
    poll_interval_ms: Interval = 100
    max_poll_interval_ms: Interval = 2_000
    scheduled_interval_ms: Interval = 5_000
    reclaim_interval_ms: Interval = 15_000
    shutdown_timeout_ms: Annotated[int, Field(ge=0, le=24 * HOUR)] = 30_000
    requeue_delay_ms: Span = 1_000
    max_requeue_age_ms: Span = 300_000
    max_requeues: Annotated[int, Field(ge=1, le=1_000_000_000)] = 10_000
    retry_config: RetrySettings = RetrySettings()

    @model_validator(mode="before")
    @classmethod
    def _one_way_to_name_queues(cls, given: object) -> object:
        if isinstance(given, Mapping) and {"queues", "queue_name"} <= {str(key).replace("-", "_") for key in given}:
            raise Refused("queue_name", "cannot be given together with queues: keep queues")
        return given

    @model_validator(mode="after")
    def _ordered(self) -> "WorkersSettings":
        if self.poll_interval_ms > self.max_poll_interval_ms:
            raise Refused("poll_interval_ms", f"must not exceed max_poll_interval_ms, {self.max_poll_interval_ms}")
        return self

    @property
    def polled(self) -> tuple[str, ...]:
        """The queues that pools poll, however they were named."""
        return self.queues if self.queue_name is None else (self.queue_name,)

    @property
    def backoff(self) -> Backoff:
        return self.retry_config.backoff

    @property
    def patience(self) -> Patience:
        return Patience(
            delay=_ms(self.requeue_delay_ms), max_age=_ms(self.max_requeue_age_ms), max_times=self.max_requeues
        )

    @property
    def poll_interval(self) -> timedelta:
        return _ms(self.poll_interval_ms)

    @property
    def max_poll_interval(self) -> timedelta:
        return _ms(self.max_poll_interval_ms)

    @property
    def scheduled_interval(self) -> timedelta:
        return _ms(self.scheduled_interval_ms)

    @property
    def reclaim_interval(self) -> timedelta:
        return _ms(self.reclaim_interval_ms)

    @property
    def shutdown_timeout(self) -> timedelta:
        return _ms(self.shutdown_timeout_ms)


class RecurringSettings(Table):
    """`jobs.recurring.<job type>`: when to enqueue it. `args` are given to every run as they are."""

    cron: Text
    zone: Zone | None = None
    queue: Name = "default"
    priority: Literal["critical", "high", "normal", "low"] = Priority.NORMAL.value
    args: Args = Field(default_factory=dict)


class SchedulerSettings(Table):
    """`jobs.scheduler`: the ticker that fires recurring jobs. "auto" is off where no worker runs."""

    enabled: AutoOrBool = "auto"
    tick_ms: Interval = 5_000
    lease_ms: Annotated[int, Field(ge=100, le=DAY)] = 30_000
    zone: Zone = "UTC"
    watch_ms: Annotated[int, Field(ge=SECOND, le=DAY)] = 60_000
    idempotency_ttl_ms: Span = 7 * DAY

    @model_validator(mode="after")
    def _ordered(self) -> "SchedulerSettings":
        if self.tick_ms > self.lease_ms:
            raise Refused("tick_ms", f"must not exceed lease_ms, which is {self.lease_ms}: the lease would lapse")
        return self


class JobsRetentionSettings(Table):
    """`jobs.retention`: how long ended jobs are kept."""

    completed_days: Days = 7
    cancelled_days: Days = 7
    dead_letter_days: Days = 30


class RetentionSettings(Table):
    """`retention`, the application's: which contributed policies run."""

    policies: Annotated[tuple[Text, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _possible(self) -> "RetentionSettings":
        refuse_absent(self, "retention")
        return self


class JobsSettings(Table):
    """`jobs`: its presence, even empty, enables jobs. Raises pydantic's ValidationError; `read_jobs` SettingsError."""

    provider: Provider = "memory"
    lease_ms: Annotated[int, Field(ge=100, le=DAY)] = 60_000
    on_outcome: Reference | None = None
    report_failures_every_ms: Span = HOUR
    db: DbSettings = DbSettings()
    redis: RedisSettings = RedisSettings()
    workers: WorkersSettings = WorkersSettings()
    recurring: dict[Name, RecurringSettings] = Field(default_factory=dict)
    scheduler: SchedulerSettings = SchedulerSettings()
    expect_success: dict[Name, Hours] = Field(default_factory=dict)
    retention: JobsRetentionSettings = JobsRetentionSettings()

    @model_validator(mode="after")
    def _possible(self) -> "JobsSettings":
        if self.provider == "memory" and self.workers.processes > 1:
            raise Refused("workers.processes", "the memory provider lives in one process: use 1, or provider = db")
        if self.db.url is not None and "provider" not in self.model_fields_set:
            raise Refused("provider", 'is missing: jobs.db.url is given, so write provider = "db", or "memory"')
        if self.redis.names_a_server and "provider" not in self.model_fields_set:
            raise Refused("provider", 'is missing: jobs.redis is given, so write provider = "redis", or "memory"')
        refuse_absent(self, "jobs")
        if self.provider == "memory" and self.workers.count == 0:
            log.warning("jobs.workers.count: 0 with the memory provider: nothing will ever run these jobs")
        return self

    @property
    def lease(self) -> timedelta:
        return _ms(self.lease_ms)


def _ms(number: int) -> timedelta:
    return timedelta(milliseconds=number)
