"""The transit package that the types come from reads what we write and writes what we read, where it is right.

It is right for little: its reader takes exponential time in nesting and answers with types of its own, so values
here are small, and what it reads is thawed before it is compared.
"""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transit.reader import Reader
from transit.writer import Writer

from tests.codec.values import same
from wagoe_jobs.core import codec
from wagoe_jobs.core.transit_types import Keyword, Symbol

WORDS = st.text("abcdefgh/-", min_size=1, max_size=6)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.integers(2**64, 2**80)
    | st.sampled_from([0.5, -2.25, 1.5e300])
    | st.text("ab~^`é:# ", max_size=6)
    | st.uuids()
    | st.datetimes(
        datetime.fromisoformat("1980-01-01"), datetime.fromisoformat("2100-01-01"), timezones=st.just(UTC)
    ).map(lambda value: value.replace(microsecond=0))
    | st.builds(Keyword, WORDS)
    | st.builds(Symbol, WORDS)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abcd~^`", max_size=6), inner, max_size=4)
        | st.dictionaries(st.builds(Keyword, WORDS), inner, max_size=4)
    ),
    max_leaves=10,
)


def thawed(value: Any) -> Any:
    """Python's own types for those of the package."""
    kind = type(value).__name__
    if kind in ("frozendict", "dict"):
        return {key: thawed(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [thawed(item) for item in value]
    if kind == "Boolean":
        return bool(value)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def written(value: Any, spelling: str) -> str:
    buffer = io.StringIO()
    Writer(buffer, spelling).write(value)
    return buffer.getvalue()


@pytest.mark.parametrize("spelling", ["json", "json_verbose"])
@settings(max_examples=150, deadline=None)
@given(value=VALUES)
def test_what_it_writes_we_read(spelling, value):
    assert same(codec.decode_value(written([value], spelling)), [value])


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_what_we_write_it_reads(value):
    assert same(thawed(Reader("json").read(io.StringIO(codec.encode_value([value])))), [value])


@pytest.mark.fault(63)
def test_short_names_take_no_place_in_the_cache():
    names = [Keyword("a"), set(), Keyword("a"), Keyword("abc"), Keyword("abcd"), Keyword("abc"), Keyword("abcd")]
    text = written(names, "json")
    assert "^" in text
    assert same(codec.decode_value(text), names)
    assert same(codec.decode_value(codec.encode_value(names)), names)


@pytest.mark.fault(62)
def test_the_fault_that_bare_numbers_had_is_not_ours():
    for number in (2**53, 2**53 + 100, -(2**53)):
        assert not isinstance(json.loads(codec.encode_value([number]))[0], int)
        assert codec.decode_value(written([number], "json")) == [number]
