"""What a value means, told so that another language can tell it too; interop/peer.js is the other half.

A description is [kind, ...] of JSON values, with map entries and set members in order of their text. A float
without a fraction is told as an integer is, since JavaScript cannot tell them apart.
"""

import hashlib
import json
from base64 import b64encode
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from wagoe_jobs.core.job import to_micros
from wagoe_jobs.core.transit_types import DECIMAL_BITS, URI, Keyword, Symbol


def described(value: Any) -> list[Any]:
    """The description of a value as transit-js reads it: instants in milliseconds, our own tags as tagged."""
    match value:
        case None:
            return ["null"]
        case bool():
            return ["bool", value]
        case str():
            return ["str", value]
        case int() if value.bit_length() > DECIMAL_BITS:
            return ["tagged", "py/int", ["str", hex(value)]]
        case int() | float():
            return ["number", _number(value)]
        case Decimal():
            return ["decimal", str(value)] if value.is_finite() else ["tagged", "py/decimal", ["str", str(value)]]
        case bytes():
            return ["bytes", b64encode(value).decode()]
        case UUID():
            return ["uuid", str(value)]
        case datetime():
            return ["instant", to_micros(value) // 1000]
        case list():
            return ["array", [described(item) for item in value]]
        case dict():
            return ["map", _in_order([[_key(key), described(item)] for key, item in value.items()])]
        case set():
            return ["set", _in_order([_key(item) for item in value])]
        case Keyword() | Symbol():
            return ["keyword" if isinstance(value, Keyword) else "symbol", value.str]
        case URI():
            return ["uri", value.rep]
        case _:
            return ["tagged", *_own_tag(value)]


def digest(means: list[Any]) -> str:
    """A short stand-in for a long description."""
    return hashlib.sha256(text_of(means).encode()).hexdigest()


def text_of(means: Any) -> str:
    return json.dumps(means, ensure_ascii=False, separators=(",", ":"))


def _key(value: Any) -> list[Any]:
    """A key or member: there arrays are tuples here, and sets are frozensets."""
    match value:
        case tuple():
            return ["array", [_key(item) for item in value]]
        case frozenset():
            return ["set", _in_order([_key(item) for item in value])]
        case _:
            return described(value)


def _own_tag(value: Any) -> list[Any]:
    match value:
        case tuple():
            return ["py/tuple", described(list(value))]
        case frozenset():
            return ["py/frozenset", ["array", [_key(item) for item in value]]]
        case date() | time():
            return [f"py/{type(value).__name__}", ["str", value.isoformat()]]
        case timedelta():
            return ["py/timedelta", described([value.days, value.seconds, value.microseconds])]
        case _:
            raise TypeError(type(value))


def _number(value: float) -> object:
    if isinstance(value, float):
        if value != value:
            return "NaN"
        if value in (float("inf"), float("-inf")):
            return "Infinity" if value > 0 else "-Infinity"
        if value % 1:
            return value
    return str(int(value))


def _in_order(items: list[Any]) -> list[Any]:
    return sorted(items, key=text_of)
