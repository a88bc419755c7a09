"""What the jobs block accepts, and that everything else is refused under its full path."""

import logging
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import make_url

from wagoe_jobs.core.retry import Backoff, Strategy
from wagoe_jobs.errors import SettingsError
from wagoe_jobs.settings import DbSettings, JobsSettings, Settings, WorkersSettings, load_settings, read_jobs
from wagoe_jobs.settings.shapes import as_settings_error

NAIVE = datetime.fromisoformat("2024-01-01T09:00:00")
NAN, INF = float("nan"), float("inf")


def load(**jobs: object) -> JobsSettings:
    settings = load_settings(given={"jobs": jobs}, environ={})
    assert settings.jobs is not None
    return settings.jobs


def refusal(**jobs: object) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(**jobs)
    return caught.value


def wrong_in(jobs: object) -> SettingsError:
    """What the model itself refuses, also of tables that a later version will obey."""
    with pytest.raises(ValidationError) as caught:
        JobsSettings.model_validate(jobs)
    return as_settings_error(caught.value, "jobs", JobsSettings)


def test_an_empty_block_enables_jobs_with_the_defaults_that_are_documented() -> None:
    jobs = load()
    assert (jobs.provider, jobs.lease) == ("memory", timedelta(seconds=60))
    workers = jobs.workers
    assert (workers.count, workers.polled, workers.processes, workers.virtual_threads) == (1, ("default",), 1, False)
    assert (workers.poll_interval_ms, workers.max_poll_interval_ms) == (100, 2_000)
    assert (workers.scheduled_interval_ms, workers.reclaim_interval_ms) == (5_000, 15_000)
    assert workers.shutdown_timeout == timedelta(seconds=30)
    assert (workers.patience.delay, workers.patience.max_age) == (timedelta(seconds=1), timedelta(minutes=5))
    assert workers.patience.max_times == 10_000
    assert workers.backoff == Backoff()
    assert (jobs.scheduler.enabled, jobs.scheduler.tick_ms, jobs.scheduler.lease_ms) == ("auto", 5_000, 30_000)
    assert (jobs.scheduler.zone, jobs.scheduler.watch_ms) == ("UTC", 60_000)
    assert (jobs.redis.host, jobs.redis.port, jobs.redis.prefix) == ("localhost", 6379, "{wagoe}:")
    assert (jobs.retention.completed_days, jobs.retention.cancelled_days, jobs.retention.dead_letter_days) == (7, 7, 30)
    assert jobs.report_failures_every_ms == 3_600_000


def test_without_the_block_there_are_no_jobs() -> None:
    settings = load_settings(environ={})
    assert settings == Settings()
    assert settings.jobs is None
    assert "jobs" not in settings.enabled
    assert "jobs" in load_settings(given={"jobs": {}}, environ={}).enabled


def test_values_become_what_the_code_works_with() -> None:
    workers = load(
        workers={
            "queue-name": "mail",
            "retry-config": {
                "backoff-strategy": "linear",
                "initial-delay-ms": 20,
                "max_delay_ms": 50,
                "jitter": False,
            },
        }
    ).workers
    assert workers.polled == ("mail",)
    assert workers.backoff == Backoff(
        strategy=Strategy.LINEAR,
        initial=timedelta(milliseconds=20),
        max_delay=timedelta(milliseconds=50),
        jitter=False,
    )


@pytest.mark.parametrize("spelling", ["poll-interval-ms", "poll_interval_ms", "poll-interval_ms"])
def test_kebab_and_snake_case_are_one_name(spelling: str) -> None:
    assert load(workers={spelling: 7}).workers.poll_interval_ms == 7
    assert JobsSettings.model_validate({"workers": {spelling: 7}}).workers.poll_interval_ms == 7


def test_two_spellings_of_one_name_are_refused_with_both() -> None:
    error = refusal(**{"lease-ms": 1_000, "lease_ms": 1_000})
    assert error.path == "jobs.lease_ms"
    assert "lease-ms" in error.reason


@pytest.mark.parametrize(
    ("jobs", "path", "nearest"),
    [
        ({"workers": {"quue": ["a"]}}, "jobs.workers.quue", "did you mean queues?"),
        ({"lease_mss": 1}, "jobs.lease_mss", "did you mean lease_ms?"),
        ({"Lease-MS": 1}, "jobs.Lease-MS", "did you mean lease_ms?"),
        ({"count": 1}, "jobs.count", "did you mean workers.count?"),
        ({"workers": {"retry_config": {"jiter": True}}}, "jobs.workers.retry_config.jiter", "did you mean jitter?"),
        ({"db": {"schema_name": "x"}}, "jobs.db.schema_name", "did you mean schema?"),
        ({"redis": {"pasword": "x"}}, "jobs.redis.pasword", "did you mean password?"),
        ({"redis": {"sentinel": {"node": ["a:1"]}}}, "jobs.redis.sentinel.node", "did you mean nodes?"),
        ({"redis": {"service": "x"}}, "jobs.redis.service", "did you mean sentinel.service?"),
        ({"db": {"zzz": 1}}, "jobs.db.zzz", "there are schema, table_prefix"),
        ({5: 1}, "jobs.5", "no such setting"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(jobs: dict[str, object], path: str, nearest: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(given={"jobs": jobs}, environ={})
    assert caught.value.path == path
    assert nearest in caught.value.reason


@pytest.mark.parametrize("wrong", [True, "5", 5.0, -1, 0, 10**30, NAN, INF, None, [], {}])
@pytest.mark.parametrize(
    "path",
    [
        "lease_ms", "report_failures_every_ms", "workers.poll_interval_ms", "workers.max_poll_interval_ms",
        "workers.scheduled_interval_ms", "workers.reclaim_interval_ms", "workers.requeue_delay_ms",
        "workers.max_requeue_age_ms", "workers.max_requeues", "workers.processes", "scheduler.tick_ms",
        "scheduler.lease_ms", "scheduler.watch_ms", "retention.completed_days", "retention.dead_letter_days",
        "workers.retry_config.initial_delay_ms", "workers.retry_config.max_delay_ms", "redis.port", "redis.timeout_ms",
    ],
)  # fmt: skip
def test_a_number_that_is_none_or_impossible_is_refused(path: str, wrong: object) -> None:
    given: object = wrong
    for name in reversed(path.split(".")):
        given = {name: given}
    error = wrong_in(given)
    assert error.path == f"jobs.{path}"
    assert "must be" in error.reason


@pytest.mark.parametrize("count", [True, -1, 10_001, 1.0, "1"])
def test_count_is_a_whole_number_from_nought(count: object) -> None:
    assert refusal(workers={"count": count}).path == "jobs.workers.count"
    assert load(provider="db", workers={"count": 0}).workers.count == 0


@pytest.mark.parametrize("wrong", [NAN, INF, True, "26", 0, -1, 10**9])
def test_hours_are_positive_and_finite(wrong: object) -> None:
    assert wrong_in({"expect_success": {"nightly report": wrong}}).path == 'jobs.expect_success."nightly report"'


@pytest.mark.parametrize(
    ("jobs", "path", "reason"),
    [
        ({"provider": "oracle"}, "jobs.provider", "'memory', 'db' or 'redis'"),
        ({"provider": "DB"}, "jobs.provider", "'memory', 'db' or 'redis'"),
        ({"workers": []}, "jobs.workers", "must be a table"),
        ({"workers": {"queues": "default"}}, "jobs.workers.queues", "must be a list"),
        ({"workers": {"queues": []}}, "jobs.workers.queues", "at least one queue"),
        ({"workers": {"queues": ["a", "a"]}}, "jobs.workers.queues", "twice"),
        ({"workers": {"queues": ["a", ""]}}, "jobs.workers.queues[1]", "1 to 200 characters"),
        ({"workers": {"queue_name": "a\n"}}, "jobs.workers.queue_name", "control characters"),
        ({"workers": {"queues": ["a"], "queue-name": "b"}}, "jobs.workers.queue_name", "together with queues"),
        ({"workers": {"poll_interval_ms": 3_000}}, "jobs.workers.poll_interval_ms", "max_poll_interval_ms"),
        ({"workers": {"retry_config": {"initial_delay_ms": 61_000}}},
         "jobs.workers.retry_config.initial_delay_ms", "max_delay_ms"),
        ({"workers": {"retry_config": {"backoff_strategy": "fibonacci"}}},
         "jobs.workers.retry_config.backoff_strategy", "'exponential'"),
        ({"db": {"table_prefix": "drop table;"}}, "jobs.db.table_prefix", ""),
        ({"memory": {}}, "jobs.memory", "no such setting"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused(jobs: dict[str, object], path: str, reason: str) -> None:
    error = refusal(**jobs)
    assert (error.path, reason in error.reason) == (path, True), str(error)


@pytest.mark.parametrize(
    ("jobs", "path", "reason"),
    [
        ({"scheduler": {"enabled": 1}}, "jobs.scheduler.enabled", "auto"),
        ({"scheduler": {"zone": "Europe/Rotterdam"}}, "jobs.scheduler.zone", "not a time zone"),
        ({"scheduler": {"zone": "../../etc/passwd"}}, "jobs.scheduler.zone", "not a time zone"),
        ({"scheduler": {"lease_ms": 4_000}}, "jobs.scheduler.tick_ms", "lease_ms"),
        ({"on_outcome": "not a reference"}, "jobs.on_outcome", "package.module:function"),
        ({"recurring": {"a": {"queue": "b"}}}, "jobs.recurring.a.cron", "is missing"),
        ({"recurring": {"": {"cron": "x"}}}, 'jobs.recurring.""', "1 to 200"),
        ({"recurring": {"a b": {"corn": "x"}}}, 'jobs.recurring."a b".corn', "did you mean cron?"),
    ],
)
def test_tables_of_a_later_version_know_their_values(jobs: dict[str, object], path: str, reason: str) -> None:
    error = wrong_in(jobs)
    assert (error.path, reason in error.reason) == (path, True), str(error)


@pytest.mark.parametrize(
    ("jobs", "path", "capability"),
    [
        ({"provider": "db", "workers": {"processes": 2}}, "jobs.workers.processes", "several processes"),
        ({"recurring": {"a": {"cron": "0 2 * * *"}}}, "jobs.recurring", "recurring jobs"),
        ({"scheduler": {"enabled": True}}, "jobs.scheduler", "recurring jobs"),
        ({"scheduler": {"enabled": False, "tick_ms": 1_000}}, "jobs.scheduler", "recurring jobs"),
        ({"expect_success": {"a": 26}}, "jobs.expect_success", "staleness reports"),
        ({"on_outcome": "a.b:c"}, "jobs.on_outcome", "outcome hooks"),
        ({"report_failures_every_ms": 1_000}, "jobs.report_failures_every_ms", "failure reports"),
        ({"retention": {"completed_days": 8}}, "jobs.retention", "retention"),
        ({"recurring": {"x": {"type": "y"}}}, "jobs.recurring", "recurring jobs"),
        ({"recurring": {"x": 5}}, "jobs.recurring", "recurring jobs"),
        ({"recurring": ["x"]}, "jobs.recurring", "recurring jobs"),
        ({"recurring": {"x": {}}}, "jobs.recurring", "recurring jobs"),
        ({"scheduler": {"zzz": 1}}, "jobs.scheduler", "recurring jobs"),
        ({"scheduler": {"tick_ms": "5"}}, "jobs.scheduler", "recurring jobs"),
        ({"expect_success": {"a": "x"}}, "jobs.expect_success", "staleness reports"),
        ({"retention": {"days": 8}}, "jobs.retention", "retention"),
        ({"on_outcome": 5}, "jobs.on_outcome", "outcome hooks"),
        ({"report_failures_every_ms": "x"}, "jobs.report_failures_every_ms", "failure reports"),
        ({"workers": {"processes": 2}}, "jobs.workers.processes", "several processes"),
    ],
)
def test_a_setting_that_nothing_would_obey_is_refused(jobs: dict[str, object], path: str, capability: str) -> None:
    error = refusal(**jobs)
    assert error.path == path
    assert capability in error.reason
    assert "not part of this version yet" in error.reason
    assert error.reason.endswith("remove it")


def test_a_later_capability_written_with_its_defaults_asks_for_nothing() -> None:
    assert load(redis={"port": 6379}, recurring={}, scheduler={"enabled": False}, retention={"completed_days": 7})


REDIS = "redis://jobs@r"
SENTINELS = {"service": "jobs", "nodes": ["s1:26379"]}


@pytest.mark.parametrize(
    ("redis", "path", "reason"),
    [
        ({"url": REDIS, "host": "localhost"}, "host", "together with url"),
        ({"url": REDIS, "port": 6379}, "port", "together with url"),
        ({"url": REDIS, "db": 1}, "db", "together with url"),
        ({"url": REDIS, "username": "a"}, "username", "together with url"),
        ({"url": REDIS, "password": "a"}, "password", "together with url"),
        ({"url": REDIS, "ssl": True}, "ssl", "together with url"),
        ({"url": REDIS, "sentinel": SENTINELS}, "sentinel", "together with url"),
        ({"host": "r", "sentinel": SENTINELS}, "host", "together with sentinel"),
        ({"cluster": True, "sentinel": SENTINELS}, "cluster", "together with sentinel"),
        ({"cluster": True, "db": 1}, "db", "together with cluster"),
        ({"url": "http://r"}, "url", "redis://user:password@host:6379/0"),
        ({"url": "r:6379"}, "url", "redis://user:password@host:6379/0"),
        ({"url": "redis://r:99999"}, "url", "redis://user:password@host:6379/0"),
        ({"url": "redis://:a@b@r"}, "url", "written as %40"),
        ({"url": "redis://a:1#b@r"}, "url", "written as %40"),
        ({"url": "redis://a:1/b@r"}, "url", "written as %40"),
        ({"url": " "}, "url", "must not be empty"),
        ({"host": "redis://r"}, "host", "written as url"),
        ({"host": "a@r"}, "host", "written as url"),
        ({"host": ""}, "host", "must not be empty"),
        ({"sentinel": {"nodes": ["s1:26379"]}}, "sentinel.service", "is missing"),
        ({"sentinel": {"service": "jobs"}}, "sentinel.nodes", "is missing"),
        ({"sentinel": {"service": "jobs", "nodes": []}}, "sentinel.nodes", "at least one"),
        ({"sentinel": {"service": "jobs", "nodes": "s1:26379"}}, "sentinel.nodes", "must be a list"),
        ({"sentinel": {"service": "jobs", "nodes": ["s1:1", "s2"]}}, "sentinel.nodes[1]", "host:port"),
        ({"sentinel": {"service": "jobs", "nodes": ["::1"]}}, "sentinel.nodes[0]", "host:port"),
        ({"sentinel": {"service": "jobs", "nodes": ["s1:0"]}}, "sentinel.nodes[0]", "host:port"),
        ({"sentinel": "s1:26379"}, "sentinel", "must be a table"),
        ({"prefix": "wagoe:"}, "prefix", "one hash tag"),
        ({"prefix": "{}:"}, "prefix", "one hash tag"),
        ({"prefix": "{a}{b}:"}, "prefix", "one hash tag"),
        ({"prefix": "{a:"}, "prefix", "one hash tag"),
        ({"prefix": "{{a}}:"}, "prefix", "one hash tag"),
        ({"prefix": ""}, "prefix", "must not be empty"),
    ],
)  # fmt: skip
def test_a_redis_that_cannot_be_is_refused(redis: dict[str, object], path: str, reason: str) -> None:
    error = refusal(provider="redis", redis=redis)
    assert (error.path, reason in error.reason) == (f"jobs.redis.{path}", True), str(error)


def test_a_redis_may_be_told_in_four_ways() -> None:
    assert load(provider="redis").redis.host == "localhost"
    url = load(provider="redis", redis={"url": "rediss://u:%40@r:1/2"}).redis.url
    assert url is not None
    assert url.get_secret_value() == "rediss://u:%40@r:1/2"
    sentinel = load(
        provider="redis", redis={"sentinel": {**SENTINELS, "nodes": ["s1:26379", "[::1]:5"]}}
    ).redis.sentinel
    assert sentinel is not None
    assert sentinel.addresses == (("s1", 26379), ("::1", 5))
    cluster = load(provider="redis", redis={"host": "node1", "cluster": True, "prefix": "shop:{jobs}:"}).redis
    assert (cluster.cluster, cluster.prefix, cluster.timeout) == (True, "shop:{jobs}:", timedelta(seconds=10))


@pytest.mark.parametrize(
    ("weaker", "stronger", "kept"),
    [
        ("host = 'a'\nport = 1\npassword = 'x'", {"url": REDIS}, {"url"}),
        ("url = 'redis://r'", {"host": "a"}, {"host"}),
        ("host = 'a'\nport = 1\nusername = 'u'", {"sentinel": SENTINELS}, {"username", "sentinel"}),
        ("sentinel = {service = 'jobs', nodes = ['a:1']}", {"url": REDIS}, {"url"}),
        ("sentinel = {service = 'jobs', nodes = ['a:1']}", {"sentinel": {"service": "other"}}, {"sentinel"}),
        ("prefix = '{a}'", {"url": REDIS}, {"prefix", "url"}),
    ],
)
def test_a_stronger_source_may_tell_another_redis(
    weaker: str, stronger: dict[str, object], kept: set[str], tmp_path: Path
) -> None:
    (tmp_path / "jobs.toml").write_text(f"[jobs]\nprovider = 'redis'\n[jobs.redis]\n{weaker}\n")
    jobs = load_settings(tmp_path / "jobs.toml", given={"jobs": {"redis": stronger}}, environ={}).jobs
    assert jobs is not None
    assert jobs.redis.model_fields_set == kept


@pytest.mark.parametrize(
    "redis",
    [{"url": REDIS}, {"host": "r"}, {"port": 1}, {"password": "x"}, {"sentinel": SENTINELS}, {"cluster": True}],
)
def test_a_redis_without_a_provider_is_refused(redis: dict[str, object]) -> None:
    error = refusal(redis=redis)
    assert (error.path, "jobs.redis is given" in error.reason) == ("jobs.provider", True)
    assert load(provider="memory", redis=redis).provider == "memory"
    assert load(redis={"host": "localhost", "prefix": "{a}:", "timeout_ms": 5}).provider == "memory"


def test_memory_cannot_span_processes() -> None:
    error = wrong_in({"provider": "memory", "workers": {"processes": 2}})
    assert (error.path, "one process" in error.reason) == ("jobs.workers.processes", True)


def test_memory_without_a_worker_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wagoe_jobs.settings"):
        load(provider="db", workers={"count": 0})
        assert not caplog.records
        load(provider="memory", workers={"count": 0})
    assert "nothing will ever run these jobs" in caplog.text


@pytest.mark.parametrize(("old", "name"), [("in-memory", "memory"), ("in_memory", "memory"), ("database", "db")])
def test_an_old_provider_name_works_with_a_warning(old: str, name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wagoe_jobs.settings"):
        assert load(provider=old).provider == name
    assert f"write {name}" in caplog.text


SECRET = "hunter2-4711"


@pytest.mark.parametrize(
    "jobs",
    [
        {"db": {"url": f"postgresql://app:{SECRET}@db/shop"}},
        {"db": {"url": make_url(f"postgresql://app:{SECRET}@db/shop")}},
        {"redis": {"url": f"redis://:{SECRET}@r"}},
        {"redis": {"password": SECRET}},
        {"redis": {"sentinel": {"password": SECRET}}},
        {"provider": "redis", "redis": {"url": f"redis://:{SECRET}@r"}},
        {"provider": "redis", "redis": {"url": f"redis://:{SECRET}@r@b"}},
        {"provider": "redis", "redis": {"url": f"redis://:{SECRET}@r:x"}},
        {"provider": "redis", "redis": {"url": f"//:{SECRET}@r"}},
        {"provider": "redis", "redis": {"host": f"redis://:{SECRET}@r"}},
        {"provider": "redis", "redis": {"sentinel": {**SENTINELS, "password": SECRET}}},
        {"provider": "redis", "redis": {"sentinel": {**SENTINELS, "nodes": [f"u:{SECRET}@r"]}}},
        {"db": {"url": [SECRET]}},
        {"db": {"table_prefix": f"{SECRET}!"}},
        {"db": SECRET},
        {"lease_ms": SECRET},
        {"provider": SECRET},
        {"workers": {"queues": SECRET}},
        {"on_outcome": SECRET},
        {"db": {"urll": SECRET}},
        {"redis": {"password": SECRET, "port": "x"}},
        {"recurring": {"a": {"cron": ["x"], "args": {"token": SECRET}}}},
    ],
)
def test_a_secret_shows_nowhere(jobs: dict[str, object], caplog: pytest.LogCaptureFixture) -> None:
    shown: list[str] = []
    try:
        settings = load_settings(given={"jobs": jobs, "shop": {"key": SECRET}}, environ={})
        shown += [repr(settings), str(settings.jobs), repr(settings.jobs)]
    except SettingsError as error:
        shown += [str(error), repr(error)]
    try:
        JobsSettings.model_validate(jobs)
    except ValidationError as error:
        shown += [str(error), repr(error)]
    assert shown
    assert SECRET not in "".join(shown) + caplog.text


def test_the_whole_url_is_kept_of_an_sqlalchemy_url() -> None:
    url = make_url(f"postgresql://app:{SECRET}@db/shop")
    kept = load(provider="db", db={"url": url}).db.url
    assert kept is not None
    assert kept.get_secret_value() == f"postgresql://app:{SECRET}@db/shop"


@pytest.mark.fault(56)
@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"jobs": {"recurring": {"a": {"cron": "0 1 * * *", "args": {"at": [NAIVE]}}}}},
         "jobs.recurring.a.args.at[0]"),
        ({"shop": {"open from": {"day": NAIVE}}}, 'shop."open from".day'),
        ({"shop": {"opened": (NAIVE,)}}, "shop.opened[0]"),
    ],
)  # fmt: skip
def test_a_time_without_a_zone_is_refused(given: dict[str, object], path: str) -> None:
    with pytest.raises(SettingsError, match="naive") as caught:
        load_settings(given=given, environ={})
    assert caught.value.path == path


def test_tables_may_be_given_as_the_models_that_they_become() -> None:
    db = DbSettings.model_validate({"url": SECRET, "schema": "s"})
    jobs = load(provider="db", db=db, workers=WorkersSettings(count=2))
    assert (jobs.workers.count, jobs.db.schema_name) == (2, "s")
    assert jobs.db.url is not None
    assert jobs.db.url.get_secret_value() == SECRET
    assert JobsSettings(workers=WorkersSettings(count=2)).workers.count == 2
    assert read_jobs({"workers": WorkersSettings(queue_name="q")}).workers.polled == ("q",)


def test_the_block_alone_reads_as_its_table_would() -> None:
    jobs = read_jobs({"lease-ms": 500})
    assert jobs.lease == timedelta(milliseconds=500)
    assert read_jobs(jobs) is jobs
    with pytest.raises(SettingsError, match=r"jobs\.lease_mss: did you mean lease_ms\?"):
        read_jobs({"lease_mss": 500})


@pytest.mark.parametrize(
    ("given", "path", "reason"),
    [
        ({"modules": "shop"}, "modules", "list of dotted names"),
        ({"modules": ["shop", "shop"]}, "modules[1]", "twice"),
        ({"modules": ["shop receipts"]}, "modules[0]", "dotted name"),
        ({"modules": [pytest]}, "modules[0]", "module objects go into the container"),
        ({"provider": "db"}, "provider", "did you mean jobs.provider?"),
        ({"job": 5}, "job", "did you mean jobs?"),
        ({"jobs": None}, "jobs", "must be a table"),
        ({"jobs": True}, "jobs", "must be a table"),
        ({"my-shop": {}, "my_shop": {}}, "my_shop", "twice"),
        ({5: {}}, "5", "not the name of a table"),
        ({"retention": {"policies": ["jobs/dead-letter"]}}, "retention", "not part of this version yet"),
        ({"retention": {"polices": []}}, "retention", "not part of this version yet"),
        ({"retention": 5}, "retention", "not part of this version yet"),
    ],
)
def test_what_stands_at_the_top_is_checked(given: dict[str, object], path: str, reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(given=given, environ={})
    assert (caught.value.path, reason in caught.value.reason) == (path, True), str(caught.value)
