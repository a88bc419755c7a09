"""Scalars of transit: what stands behind `~` and a letter in a string, or in a tag of one letter.

Every parser takes the text behind the letter and is strict: what Python's own constructors tolerate beyond
the format (underscores, other alphabets' digits, spaces, week dates) is refused. They raise Undecodable, or
ValueError or ArithmeticError where a constructor refuses what has the right shape, as the 30th of February.
"""

import re
from binascii import a2b_base64
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID, SafeUUID

from wagoe_jobs.core.job import EPOCH
from wagoe_jobs.core.transit_types import URI, Keyword, Symbol
from wagoe_jobs.errors import Undecodable

DIGITS_LIMIT = 4_300

_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?", re.ASCII)
_DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,18})?", re.ASCII)
_ODD_DECIMAL = re.compile(r"-?(s?NaN[0-9]*|Infinity)", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_INSTANT = re.compile(
    r"[0-9]{1,4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6}0*)?(Z|[-+][0-9]{2}:[0-9]{2})"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?([-+][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{6})?)?)?", re.ASCII
)
_HEX = re.compile(r"-?0x[0-9a-f]+")
_SPECIAL = {"NaN": float("nan"), "INF": float("inf"), "-INF": float("-inf")}


def bounded_int(text: str) -> int:
    """A whole number in decimal digits, of which there may be 4,300: parsing them takes quadratic time."""
    if len(text) > DIGITS_LIMIT:
        raise Undecodable("a whole number has too many digits")
    return int(text)


def finite_float(text: str) -> float:
    """A float; one that is out of range is refused rather than read as infinite."""
    value = float(text)
    if value - value != 0.0:
        raise Undecodable("a number is out of range")
    return value


def instant(text: str) -> datetime:
    """An instant as RFC 3339 writes it, in UTC; a fraction finer than a microsecond is refused."""
    checked = _checked(_INSTANT, text, "an instant")
    if checked.index("-") != 4:  # transit-js pads no year before 1000
        checked = "0" * (4 - checked.index("-")) + checked
    value = datetime.fromisoformat(checked)
    return value if value.tzinfo is UTC else value.astimezone(UTC)


def instant_of_millis(millis: int) -> datetime:
    return EPOCH + timedelta(milliseconds=millis)


def uuid(text: str) -> UUID:
    return uuid_of(_checked(_UUID, text, "a UUID"))


def uuid_of(text: str) -> UUID:
    """The UUID of a text that was checked, in a third of the time that its constructor takes to check it again."""
    made = object.__new__(UUID)
    object.__setattr__(made, "int", int(text.replace("-", ""), 16))
    object.__setattr__(made, "is_safe", SafeUUID.unknown)
    return made


def uuid_of_halves(high: int, low: int) -> UUID:
    """A UUID of two signed 64-bit numbers, its other spelling."""
    if not (-(2**63) <= high < 2**63 and -(2**63) <= low < 2**63):
        raise Undecodable("half a UUID is out of range")
    return UUID(int=(high % 2**64) << 64 | low % 2**64)


def decimal(text: str) -> Decimal:
    """A finite decimal with exactly these digits."""
    value = Decimal(_checked(_DECIMAL, text, "a decimal"))
    if value.is_nan():  # what a context that traps nothing makes of an exponent out of range
        raise Undecodable("a decimal is out of range")
    return value


def odd_decimal(text: str) -> Decimal:
    """A decimal that is not finite."""
    return Decimal(_checked(_ODD_DECIMAL, text, "a decimal"))


def hexadecimal(text: str) -> int:
    return int(_checked(_HEX, text, "a whole number"), 16)


def day(text: str) -> date:
    return date.fromisoformat(_checked(_DATE, text, "a date"))


def time_of_day(text: str) -> time:
    return time.fromisoformat(_checked(_TIME, text, "a time of day"))


def duration(days: int, seconds: int, micros: int) -> timedelta:
    if not (0 <= seconds < 86_400 and 0 <= micros < 1_000_000):
        raise Undecodable("a duration is malformed")
    return timedelta(days, seconds, micros)


def _checked(shape: re.Pattern[str], text: str, what: str) -> str:
    if shape.fullmatch(text) is None:
        raise Undecodable(f"{what} is malformed")
    return text


def _integer(text: str) -> int | float:
    """A whole number; transit-js writes a fraction that is a map key under the same letter."""
    if _INTEGER.fullmatch(text):
        return bounded_int(text)
    return _number(text)


def _big_integer(text: str) -> int:
    return bounded_int(_checked(_INTEGER, text, "a whole number"))


def _number(text: str) -> float:
    return finite_float(_checked(_NUMBER, text, "a number"))


def _millis(text: str) -> datetime:
    return instant_of_millis(_big_integer(text))


def _nothing(text: str) -> None:
    if text:
        raise Undecodable("a null is malformed")


def _truth(text: str) -> bool:
    if text == "t":
        return True
    if text == "f":
        return False
    raise Undecodable("a boolean is malformed")


def _special(text: str) -> float:
    if text not in _SPECIAL:
        raise Undecodable("a number is malformed")
    return _SPECIAL[text]


def _binary(text: str) -> bytes:
    return a2b_base64(text, strict_mode=True)


def _character(text: str) -> str:
    if len(text) != 1:
        raise Undecodable("a character is malformed")
    return text


PARSERS: dict[str, Callable[[str], object]] = {
    "_": _nothing,
    "?": _truth,
    "i": _integer,
    "n": _big_integer,
    "d": _number,
    "f": decimal,
    "z": _special,
    ":": Keyword,
    "$": Symbol,
    "r": URI,
    "u": uuid,
    "t": instant,
    "m": _millis,
    "b": _binary,
    "c": _character,
}
