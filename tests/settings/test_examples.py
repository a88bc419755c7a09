"""Whoever gave a setting of the wrong kind is told what it was, and is shown one that will do."""

import re
import shlex
import tomllib
from typing import Any

import pytest

from wagoe_jobs.errors import SettingsError
from wagoe_jobs.settings import JobsSettings, load_settings
from wagoe_jobs.settings.later import later_reason
from wagoe_jobs.settings.names import leaves
from wagoe_jobs.settings.sources import laid_over

SECRET = "hunter2-4711"
TODAY = [path for path, _ in leaves(JobsSettings) if later_reason(".".join(("jobs", *path))) is None]
ODD: list[Any] = [None, True, 5, 5.5, SECRET, [5], {"a": SECRET}, object()]


def nested(path: tuple[str, ...], value: object) -> dict[str, Any]:
    for name in reversed(path):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def around(path: tuple[str, ...]) -> dict[str, Any]:
    """The jobs block that has what must be there beside the setting."""
    jobs: dict[str, Any] = {} if path == ("provider",) else {"provider": {"redis": "redis"}.get(path[0], "db")}
    if path[:2] == ("redis", "sentinel"):
        table = {"service": "s", "nodes": ["a:1"]}
        jobs["redis"] = {"sentinel": {name: table[name] for name in table if name != path[2]}}
    return jobs


def refused(path: tuple[str, ...], value: object) -> SettingsError | None:
    try:
        load_settings(given=laid_over({"jobs": around(path)}, {"jobs": nested(path, value)}), environ={})
    except SettingsError as error:
        return error
    return None


@pytest.mark.parametrize("path", TODAY, ids=".".join)
def test_a_setting_of_the_wrong_kind_is_shown_as_one_that_will_do(path: tuple[str, ...]) -> None:
    kinds = [error for value in ODD if (error := refused(path, value)) and ", not " in error.reason]
    assert kinds
    for error in (*kinds, *filter(None, [refused(path, object())])):
        line = error.reason.partition(": write ")[2]
        assert refused(path, tomllib.loads(line)[path[-1]]) is None, str(error)
        assert SECRET not in str(error)


@pytest.mark.parametrize("path", TODAY, ids=".".join)
def test_the_example_is_a_variable_where_a_variable_was_wrong(path: tuple[str, ...]) -> None:
    name = "__".join(("WAGOE_JOBS", *path)).upper()

    def read(text: str) -> str:
        try:
            load_settings(given={"jobs": around(path)}, environ={name: text})
        except SettingsError as error:
            return str(error)
        return ""

    shown = 0
    for text in ("{}", "x y", "[5]", "null"):
        told = read(text)
        assert "x y" not in told
        if found := re.search(rf": write {name}=(.*?)( \(from the environment's {name}\))?$", told):
            shown += 1
            assert read(*shlex.split(found[1])) == "", told
    assert shown or "must be text" in str(refused(path, 5))  # which every variable is


@pytest.mark.parametrize(
    ("jobs", "told"),
    [
        ({"workers": {"queues": SECRET}},
         'jobs.workers.queues: must be a list, not text: write queues = ["default"]'),
        ({"workers": {"queues": ["a", 5]}},
         'jobs.workers.queues[1]: must be text, not a whole number: write queues = ["default"]'),
        ({"workers": {"queue_name": 5}},
         'jobs.workers.queue_name: must be text, not a whole number: write queue_name = "default"'),
        ({"workers": {"count": "5"}}, "jobs.workers.count: must be a whole number, not text: write count = 1"),
        ({"workers": {"count": True}},
         "jobs.workers.count: must be a whole number, not true or false: write count = 1"),
        ({"workers": {"virtual_threads": "no"}},
         "jobs.workers.virtual_threads: must be true or false, not text: write virtual_threads = false"),
        ({"workers": []},
         "jobs.workers: must be a table, not a list: write [jobs.workers], and below it settings as count = 1"),
        ({"redis": {"sentinel": "s1:26379"}},
         'jobs.redis.sentinel: must be a table, not text: write [jobs.redis.sentinel], and below it settings as '
         'service = "jobs"'),
        ({"db": {"url": 5}},
         'jobs.db.url: must be text, not a whole number: write url = "postgresql+psycopg://user@host/name"'),
        ({"db": {"schema": 5}}, 'jobs.db.schema: must be text, not a whole number: write schema = "jobs"'),
        ({"redis": {"password": 4711}},
         'jobs.redis.password: must be text, not a whole number: write password = "secret"'),
        ({"redis": {"sentinel": {"service": "s"}}},
         'jobs.redis.sentinel.nodes: is missing: write nodes = ["sentinel1:26379"]'),
        ({"provider": 5},
         "jobs.provider: must be 'memory', 'db' or 'redis', not a whole number: write provider = \"memory\""),
        ({"provider": "x"}, "jobs.provider: must be 'memory', 'db' or 'redis': write provider = \"memory\""),
        ({"provider": "PostgreSQL"},
         'jobs.provider: must be "memory", "db" or "redis": write provider = "db", and which database as jobs.db.url'),
        (5, 'jobs: must be a table, not a whole number: write [jobs], and below it settings as provider = "memory"'),
    ],
)  # fmt: skip
def test_what_was_given_is_told_by_its_kind(jobs: object, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(given={"jobs": jobs}, environ={})
    assert str(caught.value) == told


def test_the_list_of_modules_is_shown_too() -> None:
    with pytest.raises(SettingsError, match=r'not text: write modules = \["shop\.receipts"\]'):
        load_settings(given={"modules": "shop"}, environ={})


@pytest.mark.parametrize("text", ["default", "5"])
def test_a_list_in_the_environment_is_shown_as_json(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(given={"jobs": {}}, environ={"WAGOE_JOBS__WORKERS__QUEUES": text})
    assert """write WAGOE_JOBS__WORKERS__QUEUES='["default"]'""" in str(caught.value)
