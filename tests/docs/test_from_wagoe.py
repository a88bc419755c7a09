"""The page for who comes from wagoe: whatever it names here does exist, and nothing is named twice."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import get_type_hints

import pytest

from tests.docs.test_pages import ROOT, cli
from wagoe_jobs.adapters.redis.keys import Keys
from wagoe_jobs.adapters.sql.sqlite import SQLite
from wagoe_jobs.adapters.sql.tables import make_tables
from wagoe_jobs.core.job import Priority, Status
from wagoe_jobs.settings import JobsSettings
from wagoe_jobs.settings.later import ABSENT
from wagoe_jobs.settings.names import leaves

PAGE = (ROOT / "docs" / "from_wagoe.md").read_text()
TABLES = make_tables(SQLite.shape, None, "").queue.metadata.tables
SETTINGS = {".".join(("jobs", *path)) for path, _ in leaves(JobsSettings)}
REDIS = {Keys().job("<id>"), Keys().line("<name>", 0), Keys().scheduled, Keys().failed}


def rows() -> Iterator[list[str]]:
    """The cells of every line of every table: the name there, what it is here, a note."""
    for line in PAGE.splitlines():
        if line.startswith("| ") and not line.startswith(("| wagoe |", "| --- |")):
            yield [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]


def spans(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def exists(name: str) -> bool:
    """Whether this library has it, whatever kind of name it is."""
    if name.startswith("wagoe_jobs."):
        return found(name)
    if name.startswith("{"):
        return name in REDIS or name == Keys().line("<name>", 0).replace("critical", "<priority>")
    if name.startswith("wagoe-jobs "):
        return cli(*name.split()[1:], "--help", folder=ROOT).returncode == 0
    if name.startswith("jobs."):
        return any(f"{setting}.".startswith(f"{name}.") for setting in SETTINGS)
    table, _, column = name.partition(".")
    return table in TABLES and (not column or column in TABLES[table].columns)


def found(dotted: str) -> bool:
    module, _, name = dotted.rpartition(".")
    try:
        return import_module(dotted) is not None
    except ModuleNotFoundError:
        pass
    try:
        owner = import_module(module)
    except ModuleNotFoundError:
        outer, _, kind = module.rpartition(".")
        owner = getattr(import_module(outer), kind)
    return hasattr(owner, name) or name in get_type_hints(owner)


NAMED = sorted({name for _, here, _ in rows() for name in spans(here)})
IN_NOTES = sorted({name for *_, note in rows() for name in spans(note) if name.startswith(("wagoe_jobs.", "jobs."))})


@pytest.mark.parametrize("name", [*NAMED, *IN_NOTES])
def test_what_it_names_exists(name: str):
    assert exists(name)


@pytest.mark.parametrize(
    "name", ["wagoe_jobs.ports.JobQueue.dequeue", "wagoe_jobs.nothing", "jobs.lease", "jobs", "{wagoe}:x"]
)
def test_what_does_not_exist_would_be_noticed(name: str):
    assert not exists(name)


def test_every_row_says_where_a_name_is_or_why_not():
    assert len(list(rows())) > 90
    assert [cells for cells in rows() if len(cells) != 3 or not (cells[1] or cells[2])] == []


def test_every_status_and_priority_is_there():
    assert {f"`{word}`" for word in [*Priority, *Status]} <= set(re.findall(r"`[a-z]+`", PAGE))


def test_what_is_told_to_come_later_is_refused_today():
    later = {name for _, here, note in rows() if note.startswith("*later*") for name in spans(here)}
    settings = {name.removeprefix("jobs.").partition(".")[0] for name in later if name.startswith("jobs.")}
    absent = {path.removeprefix("jobs.") for path in ABSENT}
    assert settings == {path for path in absent if not path.startswith(("workers", "retention"))}
