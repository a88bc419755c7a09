"""What is typed is read exactly, or refused."""

import io
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
import typer

from wagoe_jobs.cli.arguments import read_duration, read_id, read_instant, read_json


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("250ms", 0.25), ("5m", 300), ("1.5h", 5400), ("1d", 86400), ("0", 0)],
)
def test_durations_are_read(text: str, seconds: float):
    assert read_duration(text) == timedelta(seconds=seconds)


def test_an_instant_keeps_its_offset():
    assert read_instant("2026-05-01T09:00:00+02:00") == datetime(2026, 5, 1, 9, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_duration, "soon"),
        (read_duration, "-1"),
        (read_duration, "1e9"),
        (read_duration, "5 m"),
        (read_duration, "9" * 30 + "d"),
        (read_id, "123"),
        (read_json, "{'a': 1}"),
        (read_json, ""),
        (read_json, "[" * 100_000),
        (read_instant, "tomorrow"),
    ],
)
def test_what_cannot_be_read_is_a_usage_error(read: Callable[[str], object], text: str):
    with pytest.raises(typer.BadParameter):
        read(text)


@pytest.mark.fault(56)
def test_an_instant_without_offset_is_refused():
    with pytest.raises(typer.BadParameter, match="no offset"):
        read_instant("2026-05-01T09:00:00")


def test_a_dash_reads_json_from_stdin(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO('{"a": [1]}'))
    assert read_json("-") == {"a": [1]}
