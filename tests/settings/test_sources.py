"""Which source wins: given in code, the environment, the later file, the earlier file, the default."""

import logging
from pathlib import Path
from typing import Any

import pytest

from wagoe_jobs.errors import SettingsError
from wagoe_jobs.settings import JobsSettings, load_settings
from wagoe_jobs.settings.shapes import tree
from wagoe_jobs.settings.sources import laid_over

REPOSITORY = Path(__file__).parents[2]


TABLES: list[dict[str, object]] = [{"jobs": {}}, {}]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def jobs_of(*toml: Path, environ: dict[str, str] | None = None, **jobs: object) -> JobsSettings:
    settings = load_settings(*toml, given={"jobs": jobs} if jobs else None, environ=environ or {})
    assert settings.jobs is not None
    return settings.jobs


def test_each_source_is_stronger_than_the_next(tmp_path: Path) -> None:
    common = write(tmp_path / "jobs.toml", "[jobs.workers]\ncount = 1\nprocesses = 1\nshutdown-timeout-ms = 1\n")
    node = write(tmp_path / "node.toml", "[jobs.workers]\ncount = 2\nshutdown_timeout_ms = 2\npoll_interval_ms = 2\n")
    environ = {"WAGOE_JOBS__WORKERS__COUNT": "3", "WAGOE_JOBS__WORKERS__POLL_INTERVAL_MS": "3"}
    assert jobs_of(common).workers.count == 1
    assert jobs_of(common, node).workers.count == 2
    assert jobs_of(node, common).workers.count == 1
    assert jobs_of(common, node, environ=environ).workers.count == 3
    workers = jobs_of(common, node, environ=environ, workers={"count": 4}).workers
    assert (workers.count, workers.poll_interval_ms, workers.shutdown_timeout_ms) == (4, 3, 2)


def test_lists_are_replaced_and_never_merged(tmp_path: Path) -> None:
    common = write(tmp_path / "jobs.toml", 'modules = ["a", "b"]\n[jobs.workers]\nqueues = ["default", "mail"]\n')
    node = write(tmp_path / "node.toml", 'modules = ["c"]\n[jobs.workers]\nqueues = ["push"]\n')
    assert load_settings(common, node, environ={}).modules == ("c",)
    assert jobs_of(common, node).workers.queues == ("push",)


def test_a_stronger_source_may_name_its_queue_the_other_way(tmp_path: Path) -> None:
    common = write(tmp_path / "jobs.toml", '[jobs.workers]\nqueues = ["default", "mail"]\n')
    node = write(tmp_path / "node.toml", '[jobs.workers]\nqueue-name = "push"\n')
    assert jobs_of(common, node).workers.polled == ("push",)
    assert jobs_of(node, common).workers.polled == ("default", "mail")
    environ = {"WAGOE_JOBS__WORKERS__QUEUE_NAME": "night"}
    assert jobs_of(common, environ=environ).workers.polled == ("night",)


def test_a_table_keyed_by_job_type_keeps_its_keys_as_they_are() -> None:
    types = {"send-email": 1, "send_email": 2}  # two types, not two spellings of one
    assert tree(JobsSettings, {"expect-success": types}, "jobs") == {"expect_success": types}


def test_recurring_jobs_are_merged_by_type_and_their_args_replaced_whole(tmp_path: Path) -> None:
    weaker = {"jobs": {"recurring": {"args": {"cron": "1", "queue": "a", "args": {"x": 1}}, "queues": {"cron": "2"}}}}
    stronger = {"jobs": {"recurring": {"args": {"cron": "3", "args": {"y": 2}}, "queue_name": {"cron": "4"}}}}
    assert laid_over(weaker, stronger)["jobs"]["recurring"] == {
        "args": {"cron": "3", "queue": "a", "args": {"y": 2}},
        "queues": {"cron": "2"},
        "queue_name": {"cron": "4"},
    }


def test_other_tables_are_kept_for_their_modules_with_their_keys_untouched(tmp_path: Path) -> None:
    common = write(tmp_path / "a.toml", "[my-shop]\nkebab-key = 1\n[my-shop.inner]\na = 1\nb = 1\n")
    node = write(tmp_path / "b.toml", "[my_shop.inner]\nb = 2\n")
    settings = load_settings(common, node, environ={})
    assert settings.tables == {"my_shop": {"kebab-key": 1, "inner": {"a": 1, "b": 2}}}
    assert settings.enabled == {"my_shop"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[jobs]\nprovider =\n", "line 2"),
        (b"[jobs]\n[jobs]\n", "line 2"),
        (b'[jobs]\nprovider = "\xff"', "not UTF-8 text, at byte 19"),
        (b"a = " + b"[" * 100_000, "nested too deep"),
    ],
)
def test_a_file_that_is_not_toml_is_named_with_the_place(tmp_path: Path, text: bytes, reason: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(text)
    with pytest.raises(SettingsError) as caught:
        load_settings(path, environ={})
    assert caught.value.path == str(path)
    assert reason in caught.value.reason


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file") as caught:
        load_settings(tmp_path / "none.toml", environ={})
    assert caught.value.path == str(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match="Is a directory"):
        load_settings(tmp_path, environ={})


@pytest.mark.fault(56)
def test_a_local_time_in_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    path = write(tmp_path / "a.toml", "[shop]\nopened = 2024-01-01T09:00:00\n")
    with pytest.raises(SettingsError, match="naive") as caught:
        load_settings(path, environ={})
    assert caught.value.path == "shop.opened"
    aware = write(tmp_path / "b.toml", "[shop]\nopened = 2024-01-01T09:00:00Z\n")
    assert load_settings(aware, environ={}).tables["shop"]["opened"] is not None


def test_the_environment_alone_does_not_enable_jobs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wagoe_jobs.settings"):
        assert load_settings(environ={"WAGOE_JOBS__WORKERS__COUNT": "1"}).jobs is None
    assert "the environment alone does not enable jobs" in caplog.text


@pytest.mark.parametrize(
    ("name", "text", "path", "value"),
    [
        ("WAGOE_JOBS__LEASE_MS", "500", "lease_ms", 500),
        ("wagoe_jobs__lease_ms", "500", "lease_ms", 500),
        ("WAGOE_JOBS__WORKERS__RETRY_CONFIG__JITTER", "false", "workers.retry_config.jitter", False),
        ("WAGOE_JOBS__WORKERS__QUEUES", '["a", "b"]', "workers.queues", ("a", "b")),
        ("WAGOE_JOBS__SCHEDULER__ENABLED", "false", "scheduler.enabled", False),
        ("WAGOE_JOBS__SCHEDULER__ENABLED", "auto", "scheduler.enabled", "auto"),
        ("WAGOE_JOBS__DB__SCHEMA", "5", "db.schema_name", "5"),
        ("WAGOE_JOBS__PROVIDER", "db", "provider", "db"),
        ("WAGOE_JOBS__EXPECT_SUCCESS", "{}", "expect_success", {}),
    ],
)
def test_a_variable_sets_the_value_that_its_name_leads_to(name: str, text: str, path: str, value: object) -> None:
    found: object = jobs_of(environ={name: text}, provider="memory") if "PROVIDER" not in name else None
    if found is None:
        settings = load_settings(given={"jobs": {}}, environ={name: text})
        found = settings.jobs
    for step in path.split("."):
        found = getattr(found, step)
    assert found == value


def test_a_url_in_the_environment_stays_text_and_secret() -> None:
    jobs = jobs_of(environ={"WAGOE_JOBS__DB__URL": "12345"}, provider="db")
    assert jobs.db.url is not None
    assert jobs.db.url.get_secret_value() == "12345"
    assert "12345" not in repr(jobs)


@pytest.mark.fault(66)
@pytest.mark.parametrize("case", [str.upper, str.lower])
@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("WAGOE_JOBS_REDIS_HOST", "WAGOE_JOBS__REDIS__HOST"),
        ("WAGOE_JOBS__REDIS_HOST", "WAGOE_JOBS__REDIS__HOST"),
        ("WAGOE_JOBS_LEASE_MSS", "WAGOE_JOBS__LEASE_MS"),
        ("WAGOE_JOBS_LEASE_MS", "WAGOE_JOBS__LEASE_MS"),
        ("WAGOE_JOBS__LEASE_MSS", "WAGOE_JOBS__LEASE_MS"),
        ("WAGOE_JOBS__WORKERS__COUNTT", "WAGOE_JOBS__WORKERS__COUNT"),
        ("WAGOE_JOBS__WORKERS__RETRY_CONFIG_JITTER", "WAGOE_JOBS__WORKERS__RETRY_CONFIG__JITTER"),
        ("WAGOE_JOBS__WORKERS__COUNT__X", "WAGOE_JOBS__WORKERS__COUNT takes one value"),
        ("WAGOE_JOBS__EXPECT_SUCCESS__NIGHTLY", "staleness reports: not part of this version yet"),
        ("WAGOE_JOBS__RECURRING__NIGHTLY__CRON", "recurring jobs: not part of this version yet"),
        ("WAGOE_JOBS__SCHEDULER__TICKMS", "recurring jobs: not part of this version yet"),
        ("WAGOE_JOBS__WORKERS__QUEUES__MAIL", "WAGOE_JOBS__WORKERS__QUEUES takes all of it, as JSON"),
        ("WAGOE_JOBS__WORKERS", "set one of them, as WAGOE_JOBS__WORKERS__"),
        ("WAGOE_JOBS__WORKERS__", "set one of them, as WAGOE_JOBS__WORKERS__"),
        ("WAGOE_JOBS", "set one of them, as WAGOE_JOBS__"),
        ("WAGOE_JOBS_", "set one of them, as WAGOE_JOBS__"),
        ("WAGOE_JOBS_QQQQQQQQQQQQQQQQQQQQQQQQQQ", "names look like WAGOE_JOBS__LEASE_MS"),
        ("WAGOE-JOBS--LEASE-MSS", "WAGOE_JOBS__LEASE_MS"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest(name: str, nearest: str, case: object) -> None:
    spelled = name.upper() if case is str.upper else name.lower()
    for given in TABLES:
        with pytest.raises(SettingsError) as caught:
            load_settings(given=given, environ={spelled: "1"})
        assert caught.value.path == spelled
        assert nearest in caught.value.reason


@pytest.mark.fault(66)
@pytest.mark.parametrize(
    ("name", "text", "path", "reason"),
    [
        ("WAGOE_JOBS__EXPECT_SUCCESS", '{"a": "x"}', "jobs.expect_success", "not part of this version yet"),
        ("WAGOE_JOBS__RECURRING", '{"a": {"corn": "x"}}', "jobs.recurring", "not part of this version yet"),
        ("WAGOE_JOBS__RECURRING", "nightly", "WAGOE_JOBS__RECURRING", "not part of this version yet"),
        ("WAGOE_JOBS__SCHEDULER__TICK_MS", "x", "jobs.scheduler", "not part of this version yet"),
        ("WAGOE_JOBS__SCHEDULER__TICK_MS", "7", "jobs.scheduler", "not part of this version yet"),
        ("WAGOE_JOBS__WORKERS__QUEUES", '[{"cron": "x", "cron": "y"}]', "WAGOE_JOBS__WORKERS__QUEUES", "twice"),
        ("WAGOE_JOBS__WORKERS__QUEUES", "[" * 100_000, "WAGOE_JOBS__WORKERS__QUEUES", "must be JSON"),
        ("WAGOE_JOBS__WORKERS__QUEUES", "a,b", "WAGOE_JOBS__WORKERS__QUEUES", "must be JSON"),
        ("WAGOE_JOBS__WORKERS__QUEUES", "5", "jobs.workers.queues", "must be a list"),
        ("WAGOE_JOBS__WORKERS__COUNT", "many", "jobs.workers.count", "must be a whole number"),
        ("WAGOE_JOBS__WORKERS__COUNT", "true", "jobs.workers.count", "must be a whole number"),
        ("WAGOE_JOBS__WORKERS__COUNT", "1.0", "jobs.workers.count", "must be a whole number"),
        ("WAGOE_JOBS__WORKERS__COUNT", "9" * 10_000, "jobs.workers.count", "must be"),
        ("WAGOE_JOBS__WORKERS__COUNT", "", "WAGOE_JOBS__WORKERS__COUNT", "empty"),
        ("WAGOE_JOBS__WORKERS__COUNT", "  ", "WAGOE_JOBS__WORKERS__COUNT", "empty"),
        ("WAGOE_JOBS__DB__URL", "", "WAGOE_JOBS__DB__URL", "empty"),
        ("WAGOE_JOBS__WORKERS__VIRTUAL_THREADS", "yes", "jobs.workers.virtual_threads", "must be true or false"),
        ("WAGOE_JOBS__PROVIDER", "oracle", "jobs.provider", "must be 'memory'"),
    ],
)
def test_a_variable_of_the_wrong_kind_is_refused_by_name(name: str, text: str, path: str, reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(given={"jobs": {}}, environ={name: text})
    assert caught.value.path == path
    assert reason in caught.value.reason
    assert name in str(caught.value)


def test_a_variable_is_not_blamed_for_what_is_given_over_it() -> None:
    environ = {"WAGOE_JOBS__WORKERS__COUNT": "2", "WAGOE_JOBS__LEASE_MS": "500"}
    with pytest.raises(SettingsError) as caught:
        load_settings(given={"jobs": {"workers": {"count": "3"}}}, environ=environ)
    assert str(caught.value) == "jobs.workers.count: must be a whole number, not text: write count = 1"


def test_a_variable_given_in_two_spellings_is_refused() -> None:
    environ = {"WAGOE_JOBS__LEASE_MS": "500", "wagoe_jobs__lease_ms": "600"}
    with pytest.raises(SettingsError, match="given twice"):
        load_settings(given={"jobs": {}}, environ=environ)


def test_other_variables_are_none_of_its_business() -> None:
    assert load_settings(environ={"WAGOE_JOBSX": "1", "WAGOE": "1", "JOBS__COUNT": "1", "MY_WAGOE_JOBS__X": "1"})


def test_the_process_environment_is_read_unless_another_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAGOE_JOBS__LEASE_MS", "777")
    settings = load_settings(given={"jobs": {}})
    assert settings.jobs is not None
    assert settings.jobs.lease_ms == 777


@pytest.mark.parametrize("node", sorted(path.name for path in (REPOSITORY / "settings").glob("*.toml")))
def test_every_example_file_can_be_laid_over_the_common_one(node: str) -> None:
    assert jobs_of(REPOSITORY / "settings" / "jobs.toml", REPOSITORY / "settings" / node)


@pytest.mark.parametrize("given", [5, "jobs", True, [("jobs", {})]])
def test_what_is_no_mapping_is_refused(given: Any) -> None:
    with pytest.raises(SettingsError, match="settings: must be a mapping"):
        load_settings(given=given, environ={})


@pytest.mark.parametrize("inside", [("shop",), ("jobs", "recurring", "x", "args")])
def test_settings_that_contain_themselves_are_refused(inside: tuple[str, ...]) -> None:
    given: dict[str, Any] = {}
    for name in reversed(inside):
        given = {name: given} if given else {name: (circle := {})}
    circle["x"] = circle
    with pytest.raises(SettingsError, match="nested too deep, or contain themselves"):
        load_settings(given=given, environ={})


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "jobs.toml"
    file.write_bytes(b"\xef\xbb\xbf[jobs]\r\nlease_ms = 500\r\n")
    jobs = load_settings(file, environ={}).jobs
    assert jobs is not None
    assert jobs.lease_ms == 500


def test_a_database_is_not_left_aside_because_the_provider_was_forgotten() -> None:
    url = "postgresql+psycopg://ann@localhost/jobs"
    with pytest.raises(SettingsError, match=r"jobs\.provider: is missing") as caught:
        load_settings(given={"jobs": {}}, environ={"WAGOE_JOBS__DB__URL": url})
    assert url not in str(caught.value)
    for provider in ("memory", "db"):
        assert load_settings(given={"jobs": {"provider": provider, "db": {"url": url}}}, environ={}).jobs


@pytest.mark.parametrize("end", ["\n", "\0", "\r\n", "\x1b[31m"])
@pytest.mark.parametrize("name", ["url", "schema"])
def test_what_cannot_be_printed_is_in_no_setting(name: str, end: str) -> None:
    given = {"jobs": {"provider": "db", "db": {name: f"hunter2{end}"}}}
    with pytest.raises(SettingsError, match=rf"jobs\.db\.{name}: holds a line break") as caught:
        load_settings(given=given, environ={})
    assert "hunter2" not in str(caught.value)
