"""What the script writes can neither steer a terminal nor break a reader of its JSON."""

import io
import json
import logging
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wagoe_jobs.cli.logs import CleanFormatter, JobFormatter
from wagoe_jobs.cli.output import Output, clean_lines, plain
from wagoe_jobs.cli.tables import Column
from wagoe_jobs.core.clean import clean

HOSTILE = "\x1b[31mred\x1b[0m \x9b2J [bold]b[/bold] :smile: \u202eevil \r\n\x00"


def written(**how: bool) -> tuple[Output, io.StringIO]:
    out = io.StringIO()
    return Output(as_json=how.get("as_json", False), out=out), out


def controls(text: str) -> list[str]:
    return [c for c in text if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 or c in "\u202a\u202e\u2066\u2069"]


@given(st.text())
def test_cleaned_text_is_one_line_without_controls(text: str):
    cleaned = clean(text)
    assert controls(cleaned) == []
    assert len(cleaned.splitlines()) <= 1
    assert cleaned.encode().decode() == cleaned  # no half surrogate is left either


def test_harmless_text_of_any_script_is_left_alone():
    text = "Zoë 温泉 שלום ليلى अनन्या 👩‍👩‍👧"
    assert clean(text) == text


def test_a_trace_keeps_its_lines():
    assert clean_lines("a\n\tb\x1b[2J") == "a\n    b\\x1b[2J"


def test_markup_emoji_names_and_escapes_are_shown_as_they_are():
    output, out = written()
    output.line(HOSTILE)
    output.table([Column("type")], [[HOSTILE]])
    assert controls(out.getvalue()) == []
    assert out.getvalue().count("[bold]b[/bold] :smile:") == 2
    assert out.getvalue().count(r"\x1b[31m") == 2


def test_a_long_cell_is_not_cut():
    output, out = written()
    output.table([Column("id", 8)], [["x" * 500]])
    assert out.getvalue().count("x") == 500


def test_log_lines_are_clean_with_their_trace():
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        record = logging.LogRecord("a", 20, "f", 1, "job %s", (HOSTILE,), (type(error), error, error.__traceback__))
    assert controls(CleanFormatter("%(message)s").format(record)) == []


def test_log_lines_name_the_job_where_the_record_does():
    record = logging.LogRecord("wagoe_jobs.job", logging.INFO, "f", 1, "sending to %s", ("ann",), None)
    formatter = JobFormatter("%(message)s")
    assert formatter.format(record) == "sending to ann"
    record.job_id, record.job_type = "0197c1de", "send"
    assert formatter.format(record) == "sending to ann [send 0197c1de]"
    record.job_type = HOSTILE
    assert controls(formatter.format(record)) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (Decimal("0.10"), "0.10"),
        (b"\x00\xff", "AP8="),
        ((1, [2]), [1, [2]]),
        ({3, 1}, [1, 3]),
        ({1: {"a": None}}, {"1": {"a": None}}),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime(2026, 5, 1, tzinfo=UTC), "2026-05-01T00:00:00Z"),
        (timedelta(seconds=1.5), 1.5),
    ],
)
def test_values_of_jobs_become_the_nearest_json(value: object, expected: object):
    assert plain(value) == expected


def test_a_number_with_more_digits_than_can_be_read_is_told_in_base_16():
    output, out = written(as_json=True)
    output.document({"n": -(16**5000)})
    assert json.loads(out.getvalue()) == {"n": "-0x1" + "0" * 5000}


def test_a_document_is_one_line_of_ascii():
    output, out = written(as_json=True)
    output.document({"b": HOSTILE, "a": "Zoë \ud800"})
    assert out.getvalue().isascii()
    assert out.getvalue().count("\n") == 1
    assert json.loads(out.getvalue()) == {"a": "Zoë \ud800", "b": HOSTILE}
