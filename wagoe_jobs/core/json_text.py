"""JSON text and back, by the C encoder and scanner of the standard library, strict where that is lenient.

It also knows when JSON text is transit as it stands, so that nobody needs to look at its values: no string in
it begins with `~`, `^` or a backquote, no number needs a tag, and no key would be made a string on the way.
"""

import json
import re
from collections.abc import Callable
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]  # typeshed lacks the first
from typing import Any, NoReturn

from wagoe_jobs.core.transit_scalars import DIGITS_LIMIT, bounded_int, finite_float
from wagoe_jobs.core.transit_types import DEPTH_LIMIT, SAFE_INT
from wagoe_jobs.errors import Undecodable

quoted: Callable[[str], str] = encode_basestring
special_from = re.compile(r'"[~^`]').search  # a false find, as in a quotation, costs time; a miss would cost the truth

_ATOMS = frozenset({bool, type(None), float})
_SPACE = " \t\n\r"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # of a pair, or alone


def dumps(value: Any) -> str:
    """Compact JSON of a value without cycles; raises ValueError for NaN and infinities."""
    return "".join(_encode(value, 0))


def parse(text: str) -> Any:
    """The value of JSON text; raises Undecodable for anything that is not JSON from end to end."""
    try:
        text = text.strip(_SPACE)
        value, end = scanner_for(text)(text, 0)
    except (ValueError, StopIteration, RecursionError):
        raise Undecodable("the text is not JSON, or is nested too deeply") from None
    if end != len(text):
        raise Undecodable("something follows the JSON text")
    if _SURROGATE.search(text) and not encodable(dumps(value)):
        raise Undecodable("a string holds half a surrogate pair")
    return value


def scanner_for(text: str) -> Callable[[str, int], tuple[Any, int]]:
    """The C scanner: the value at an index and where it ends. Raises ValueError, StopIteration or RecursionError."""
    return _scan_short if len(text) <= DIGITS_LIMIT else _scan_long


def plain_text(value: object, limit: int, depth: int = 0) -> str | None:
    """The JSON of `value` if that is its transit too; None when it takes the writer that looks at every value."""
    kind = type(value)
    if (kind is not dict and kind is not list) or _room_after(value, limit, depth + 1) < 0:
        return None
    try:
        text = dumps(value)
    except ValueError:  # not a number, or infinite
        return None
    return text if special_from(text) is None and encodable(text) else None


def plain_from(text: str, start: int) -> bool:
    """Whether the JSON from `start` to the end of `text` means itself: no string of transit's, and not too deep.

    Escapes may hide what a string begins with. Less than a bracket and its partner a level is not too deep.
    """
    if special_from(text, start) is not None or _escapes(text):
        return False
    return len(text) - start < 2 * DEPTH_LIMIT or text.count("[", start) + text.count("{", start) <= DEPTH_LIMIT


def may_hide(text: str) -> bool:
    """Whether a string may begin otherwise than it looks, or stand for one that was before."""
    return ("^" in text and '"^' in text) or _escapes(text)


def encodable(text: str) -> bool:
    """Whether `text` holds no half of a surrogate pair, which neither UTF-8 nor a database can keep."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _room_after(value: Any, room: int, depth: int) -> int:
    """How much of `room` is left after a dict or list; below zero when it is not plain, too deep or too large.

    Room is counted as characters, too few rather than too many: what is shared counts every time it occurs.
    """
    if depth > DEPTH_LIMIT:
        return -1
    room -= 2 * len(value) + 2
    if type(value) is dict:
        for key in value:
            if type(key) is not str:
                return -1
            room -= len(key)
        value = value.values()
    for item in value:
        kind = type(item)
        if kind is str:
            room -= len(item)
        elif kind is int:
            if not -SAFE_INT < item < SAFE_INT:
                return -1
        elif kind not in _ATOMS:
            if (kind is not dict and kind is not list) or room < 0:
                return -1
            room = _room_after(item, room, depth + 1)
        if room < 0:
            return -1
    return room


def _escapes(text: str) -> bool:
    return "\\" in text and "\\u" in text  # looking for one character is several times as fast, and mostly enough


def _refuse(constant: str) -> NoReturn:
    raise ValueError("JSON has no such number")


def _encoder() -> Callable[[Any, int], Any]:
    """One encoder for all values: making it takes as long as encoding a job."""
    if c_make_encoder is None:
        slow = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))
        return lambda value, _: slow.iterencode(value)
    fast: Callable[[Any, int], Any] = c_make_encoder(None, None, encode_basestring, None, ":", ",", False, False, False)
    return fast


def _scanner(parse_int: Callable[[str], int] | None = None) -> Callable[[str, int], tuple[Any, int]]:
    decoder = json.JSONDecoder(parse_float=finite_float, parse_int=parse_int, parse_constant=_refuse)
    scan: Callable[[str, int], tuple[Any, int]] = decoder.scan_once  # type: ignore[attr-defined]  # not in typeshed
    return scan


_encode = _encoder()
_scan_short = _scanner()
_scan_long = _scanner(bounded_int)
