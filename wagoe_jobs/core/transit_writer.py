"""Turns Python values into JSON values that mean them in transit (JSON-Verbose), exact types only.

The result holds dicts with str keys, lists, str, int below 2**53, finite float, bool and None, ready for a JSON
encoder. What cannot be written is refused with the path to it and what to do instead. Work is linear in what
would be written: a value that is shared many times is counted every time, up to the size limit.
"""

from binascii import b2a_base64
from collections.abc import Callable, Collection
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from wagoe_jobs.core.enqueued import Enqueued
from wagoe_jobs.core.transit_advice import advice, key_step, path_of
from wagoe_jobs.core.transit_types import DECIMAL_BITS, DEPTH_LIMIT, SAFE_INT, SPECIAL, URI, Keyword, Symbol, collide
from wagoe_jobs.errors import InvalidJob, PayloadTooLarge


def written(value: object, path: str, limit: int, depth: int = 0) -> Any:
    """The JSON value of `value`; raises InvalidJob, or PayloadTooLarge when it surely takes over `limit` characters."""
    writer = _Writer(limit)
    try:
        return writer.write(value, depth)
    except RecursionError:
        raise InvalidJob(path, "is nested too deeply for what is left of the stack") from None
    except _Refusal as refusal:
        raise InvalidJob(path_of(path, refusal.steps), refusal.reason) from None
    except _Overflow:
        raise PayloadTooLarge(path, limit - writer.room, limit) from None


def instant_text(value: datetime) -> str:
    """An aware datetime in UTC with microseconds; raises ValueError when it is naive or outside the years 1 to 9999."""
    if value.tzinfo is not UTC:
        if value.utcoffset() is None:
            raise ValueError("a naive datetime has no instant: give it a time zone, as datetime.now(UTC) has")
        try:
            value = value.astimezone(UTC)
        except OverflowError:
            raise ValueError("the instant lies outside the years 1 to 9999 in UTC") from None
    return f"{value.date().isoformat()}T{value.time().isoformat('microseconds')}Z"  # isoformat of all asks the zone


class _Refusal(Exception):
    """Why a value cannot be written; `steps` lead to it, the last one first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[str] = []


class _Overflow(Exception):
    """The value takes more room than there is."""


class _Writer:
    """Writes one value; `room` is how many characters of the limit are left, at most."""

    __slots__ = ("room",)

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, value: object, depth: int) -> Any:
        """The JSON value of a value that lies in `depth` containers."""
        kind = type(value)
        scalar = _SCALARS.get(kind)
        if scalar is not None:
            return self._scalar(scalar, value)
        container = _CONTAINERS.get(kind)
        if container is None:
            raise _Refusal(advice(value))
        self._open(depth)
        return container(self, value, depth + 1)

    def member(self, value: object, depth: int) -> Any:
        """The same for a map key or set member: no list or set can be in one, so an array means a tuple there."""
        container = _FROZEN_CONTAINERS.get(type(value))
        if container is None:
            return self.write(value, depth)
        self._open(depth)
        return container(self, value, depth + 1)

    def _open(self, depth: int) -> None:
        if depth >= DEPTH_LIMIT:
            raise _Refusal(f"is nested more than {DEPTH_LIMIT} deep, or contains itself")
        self._take(2)

    def _take(self, size: int) -> None:
        self.room -= size
        if self.room < 0:
            raise _Overflow

    def _scalar(self, scalar: Callable[[Any], Any], value: object) -> Any:
        try:
            json = scalar(value)
        except ValueError as exc:
            raise _Refusal(str(exc)) from None
        self._take(len(json) + 3 if type(json) is str else 2)
        return json

    def _items(self, values: Collection[object], depth: int, write: Callable[[object, int], Any]) -> list[Any]:
        items: list[Any] = []
        try:
            for value in values:
                items.append(write(value, depth))
        except _Refusal as refusal:
            refusal.steps.append(f"[{len(items)}]")
            raise
        return items

    def _list(self, value: list[object], depth: int) -> Any:
        return self._items(value, depth, self.write)

    def _tuple(self, value: tuple[object, ...], depth: int) -> Any:
        return {"~#py/tuple": self._items(value, depth, self.write)}

    def _frozen_tuple(self, value: tuple[object, ...], depth: int) -> Any:
        return self._items(value, depth, self.member)

    def _set(self, value: frozenset[object], depth: int) -> Any:
        return {"~#set": self._members(value, depth)}

    def _frozenset(self, value: frozenset[object], depth: int) -> Any:
        return {"~#py/frozenset": self._members(value, depth)}

    def _members(self, value: frozenset[object], depth: int) -> list[Any]:
        _check_hashes(value)
        return self._keys(value, depth, self.member)

    def _dict(self, value: dict[Any, object], depth: int) -> Any:
        _check_hashes(value)
        keys = self._keys(value, depth, self._name)
        listed = None in keys or _twice(keys)
        if listed:
            keys = self._keys(value, depth, self.member)
        pairs = zip(keys, self._values(value, depth), strict=True)
        return {"~#cmap": [json for pair in pairs for json in pair]} if listed else dict(pairs)

    def _values(self, value: dict[Any, object], depth: int) -> list[Any]:
        values: list[Any] = []
        for key, item in value.items():
            try:
                values.append(self.write(item, depth))
            except _Refusal as refusal:
                refusal.steps.append(key_step(key))
                raise
        return values

    def _keys(self, keys: Collection[object], depth: int, write: Callable[[object, int], Any]) -> list[Any]:
        """Map keys or set members: a path tells them by what they are, they have no place in a line."""
        names: list[Any] = []
        for key in keys:
            try:
                names.append(write(key, depth))
            except _Refusal as refusal:
                refusal.steps.append(key_step(key))
                raise
        return names

    def _name(self, key: object, depth: int) -> str | None:
        """A scalar key as a string; None for one that only a list of pairs can hold."""
        kind = type(key)
        name = _NAMES.get(kind) or _SCALARS.get(kind)
        if name is None:
            return None
        json = self._scalar(name, key)
        return json if type(json) is str else None


def _check_hashes(keys: Collection[Any]) -> None:
    if collide(keys):
        raise _Refusal("too many of its keys have the same hash: give a list")


def _twice(names: list[str | None]) -> bool:
    """Whether not-a-number stands for several keys, which only a list of pairs can hold."""
    twice = len(set(names)) < len(names)
    if twice and len(names) - len(set(names)) != names.count("~zNaN") - 1:
        raise _Refusal("two of its keys are the same instant")
    return twice


def _text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("holds half a surrogate pair, which is not text") from None
    return "~" + value if value[:1] in SPECIAL else value


def _bare(value: object) -> Any:
    return value


def _integer(value: int) -> Any:
    if -SAFE_INT < value < SAFE_INT:
        return value
    return _integer_name(value) if value.bit_length() <= DECIMAL_BITS else {"~#py/int": hex(value)}


def _integer_name(value: int) -> Any:
    if value.bit_length() > DECIMAL_BITS:
        return None
    return f"~i{value}" if -(2**63) <= value < 2**63 else f"~n{value}"


def _real(value: float) -> Any:
    return value if value - value == 0.0 else _real_name(value)


def _real_name(value: float) -> str:
    if value != value:
        return "~zNaN"
    if value in (_INFINITY, -_INFINITY):
        return "~zINF" if value > 0 else "~z-INF"
    return f"~d{value!r}"


def _decimal(value: Decimal) -> Any:
    return "~f" + str(value) if value.is_finite() else {"~#py/decimal": str(value)}


def _time(value: time) -> Any:
    if value.tzinfo is not None and type(value.tzinfo) is not _FIXED_ZONE:
        raise ValueError("a time of day in a zone has no fixed meaning: give the time and the zone's name apart")
    return {"~#py/time": value.isoformat()}


def _named(mark: str) -> Callable[[Any], str]:
    """A writer for Keyword and Symbol, whose text is `str`."""

    def write(value: Any) -> str:
        return mark + _plain_text(value.str)

    return write


def _plain_text(text: object) -> str:
    if type(text) is not str:
        raise ValueError("its text must be a str")
    return _text("x" + text)[1:]


_INFINITY = float("inf")
_FIXED_ZONE = type(UTC)
_SCALARS: dict[type, Callable[[Any], Any]] = {
    str: _text,
    bool: _bare,
    type(None): _bare,
    int: _integer,
    float: _real,
    Decimal: _decimal,
    bytes: lambda value: "~b" + b2a_base64(value, newline=False).decode("ascii"),
    UUID: lambda value: f"~u{value}",
    Enqueued: lambda value: f"~u{value}",  # jobs name one another by what enqueue answered; it comes back as a UUID
    datetime: lambda value: "~t" + instant_text(value),
    Keyword: _named("~:"),
    Symbol: _named("~$"),
    URI: lambda value: "~r" + _plain_text(value.rep),
    date: lambda value: {"~#py/date": value.isoformat()},
    time: _time,
    timedelta: lambda value: {"~#py/timedelta": [value.days, value.seconds, value.microseconds]},
}
_NAMES: dict[type, Callable[[Any], str | None]] = {
    bool: lambda value: "~?t" if value else "~?f",
    type(None): lambda value: "~_",
    int: _integer_name,
    float: _real_name,
}
_CONTAINERS: dict[type, Callable[..., Any]] = {
    dict: _Writer._dict,
    list: _Writer._list,
    tuple: _Writer._tuple,
    set: _Writer._set,
    frozenset: _Writer._frozenset,
}
_FROZEN_CONTAINERS: dict[type, Callable[..., Any]] = {tuple: _Writer._frozen_tuple, frozenset: _Writer._set}
