"""A value comes back as what it was: equal, of equal types throughout, fresh, and free to be changed."""

import copy
import decimal
import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codec.independent import IndependentReader
from tests.codec.values import EVERY_TYPE, VALUES, same
from wagoe_jobs.core import codec
from wagoe_jobs.core.transit_types import Keyword


def back(value):
    return codec.decode_value(codec.encode_value(value))


@pytest.mark.fault(62, 64, 65)
@pytest.mark.parametrize("name", EVERY_TYPE)
def test_every_type_comes_back(name):
    value = EVERY_TYPE[name]
    assert same(back(value), value)
    assert same(back({"nested": [value]}), {"nested": [value]})


@pytest.mark.parametrize("name", EVERY_TYPE)
def test_an_independent_reader_reads_the_same(name):
    value = EVERY_TYPE[name]
    assert same(IndependentReader().read(codec.encode_value(value)), value)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_any_value_comes_back_and_two_readers_agree(value):
    text = codec.encode_value(value)
    assert same(codec.decode_value(text), value)
    assert same(IndependentReader().read(text), value)


@pytest.mark.fault(62)
@pytest.mark.parametrize("number", [2**53 - 1, 2**53, 2**53 + 100, -(2**53), 2**63 - 1, 2**63, -(2**63) - 1, 10**40])
def test_no_bare_number_is_beyond_53_bits(number):
    raw = json.loads(codec.encode_value([number]))[0]
    assert isinstance(raw, int) == (abs(number) < 2**53)
    assert back([number]) == [number]
    assert back({number: number}) == {number: number}


@pytest.mark.fault(62)
def test_a_number_of_any_size_comes_back_whatever_the_interpreter_allows():
    for number in (10**639, 10**640, 10**5000, -(7**30_000), 2**3_000_000):
        assert back([number]) == [number]


@pytest.mark.fault(64)
def test_a_float_is_a_float_and_a_decimal_keeps_its_digits():
    given_ = [0.1, Decimal("0.10"), Decimal("1E+30"), 1.0, -0.0]
    read = back(given_)
    assert [type(item) for item in read] == [float, Decimal, Decimal, float, float]
    assert [str(item) for item in read] == ["0.1", "0.10", "1E+30", "1.0", "-0.0"]


@pytest.mark.fault(64)
def test_a_decimal_keeps_its_digits_in_a_coarse_context():
    with decimal.localcontext(decimal.Context(prec=2, traps=[])):
        assert str(back([Decimal("1.23456789")])[0]) == "1.23456789"


@pytest.mark.fault(65)
def test_pythons_own_types_come_back():
    args = {"on": True, "off": False, "l": [1, [2]], "d": {"x": {}}, "s": {1, 2}, "n": None}
    read = back(args)
    assert same(read, args)
    assert read["off"] is False
    assert json.dumps({key: value for key, value in read.items() if key != "s"})


@pytest.mark.fault(65)
@pytest.mark.parametrize("tagged", [{}, {"k": Keyword("k")}], ids=["plain", "tagged"])
def test_what_comes_back_is_fresh_each_time(tagged):
    text = codec.encode_value({"list": [1], "map": {}, **tagged})
    codec.decode_value(text)["list"].append(2)
    codec.decode_value(text)["map"]["x"] = 1
    assert codec.decode_value(text) == {"list": [1], "map": {}, **tagged}


@pytest.mark.fault(55)
@pytest.mark.parametrize(
    "zone", [timezone(timedelta(hours=-8)), timezone(timedelta(hours=5, minutes=45)), ZoneInfo("Europe/Amsterdam")]
)
def test_an_aware_time_is_the_same_instant_in_utc(zone):
    given_ = datetime(2024, 1, 1, 13, 30, 45, 123456, zone)
    for read in (back([given_])[0], next(iter(back({given_: 1})))):
        assert read == given_
        assert read.tzinfo is UTC
        assert read.microsecond == 123456


@pytest.mark.fault(55)
def test_the_repeated_hour_keeps_its_two_instants():
    first = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Amsterdam"))
    second = first.replace(fold=1)
    assert back([first, second]) == [
        datetime(2024, 10, 27, 0, 30, tzinfo=UTC),
        datetime(2024, 10, 27, 1, 30, tzinfo=UTC),
    ]


@given(st.uuids())
def test_a_uuid_that_was_read_is_like_one_that_was_made(made):
    read = back([made])[0]
    assert (read, hash(read), repr(read), read.is_safe) == (made, hash(made), repr(made), made.is_safe)
    assert pickle.loads(pickle.dumps(read)) == made
    assert copy.deepcopy({read: read}) == {made: made}


def test_the_text_has_no_line_break_and_no_null_character():
    text = codec.encode_value(["\x00\n\r\x1f", {"\n": Keyword("\x00")}])
    assert all(letter >= " " for letter in text)
    assert same(codec.decode_value(text), ["\x00\n\r\x1f", {"\n": Keyword("\x00")}])
