"""The settings files and the page about them say what the code does."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from wagoe_jobs.errors import SettingsError
from wagoe_jobs.settings import JobsSettings, load_settings
from wagoe_jobs.settings.names import leaves

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "settings"
NONE = {"on_outcome", "db.url", "db.schema", "workers.queue_name", "redis.url", "redis.username", "redis.password"}
NONE |= {f"redis.sentinel.{name}" for name in ("service", "nodes", "username", "password")}
TABLED = ("recurring", "scheduler", "expect_success", "retention")


def known() -> dict[str, object]:
    """Every setting of the jobs block by its dotted name, with its default as JSON would give it."""
    dumped = JobsSettings().model_dump(mode="json", by_alias=True)
    found = {}
    for path, _ in leaves(JobsSettings):
        value = dumped
        for name in path:
            value = None if value is None else value[name]
        found[".".join(path)] = value
    return found


def in_file() -> dict[str, object]:
    jobs = tomllib.loads((SETTINGS / "jobs.toml").read_text())["jobs"]
    return {name: _at(jobs, name) for name in known() if name not in NONE}


def _at(table: object, dotted: str) -> object:
    for name in dotted.split("."):
        assert isinstance(table, dict)
        table = table[name]
    return table


def in_page() -> dict[str, str]:
    """The page's settings by dotted name, with what its column of defaults says."""
    found, table = {}, ""
    for line in (ROOT / "docs" / "configuration.md").read_text().splitlines():
        if heading := re.match(r"## `\[jobs\.?([a-z_.]*)\]`", line):
            table = f"{heading[1]}." if heading[1] else ""
        elif row := re.match(r"\| `([a-z_]+)` \| (.*?) \|", line):
            found[table + row[1]] = row[2]
    return found


def test_the_common_file_names_every_setting_with_its_default():
    assert in_file() == {name: value for name, value in known().items() if name not in NONE}


def test_the_common_file_tells_of_the_settings_without_a_default():
    text = (SETTINGS / "jobs.toml").read_text()
    assert [name for name in sorted(NONE) if f"# {name.rpartition('.')[2]} = " not in text] == []


def test_the_page_lists_every_setting_that_can_be_used_with_its_default():
    expected = {name: value for name, value in known().items() if not name.startswith(TABLED)}
    said = {name: None if text == "none" else json.loads(text.strip("`")) for name, text in in_page().items()}
    assert said == expected


@pytest.mark.parametrize("node", ["web", "worker"])
@pytest.mark.parametrize("store", ["sql", "redis", "memory"])
def test_every_combination_of_files_loads(node: str, store: str):
    settings = load_settings(SETTINGS / "jobs.toml", SETTINGS / f"{store}.toml", SETTINGS / f"{node}.toml", environ={})
    assert settings.jobs is not None
    assert (settings.jobs.workers.count == 0) == (node == "web")
    assert settings.jobs.provider == {"sql": "db"}.get(store, store)


def test_a_slip_in_a_file_is_refused_with_its_path(tmp_path: Path):
    (tmp_path / "slip.toml").write_text("[jobs.workers]\nquue = ['a']\n")
    with pytest.raises(SettingsError, match=r"jobs\.workers\.quue: did you mean queues\?"):
        load_settings(SETTINGS / "jobs.toml", tmp_path / "slip.toml", environ={})
