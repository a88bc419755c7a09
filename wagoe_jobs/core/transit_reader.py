"""Reads transit out of parsed JSON, both spellings: objects (JSON-Verbose) and `["^ ", ...]` arrays with cache codes.

A reader is for one text. Values are fresh and of
Python's own types. Raises Undecodable, ValueError or ArithmeticError for whatever is wrong with the text;
the codec turns them into one. It cannot tell a key that one JSON object holds twice: JSON's last one stands.
"""

from collections.abc import Callable, Iterable
from typing import Any

from wagoe_jobs.core import transit_scalars as scalars
from wagoe_jobs.core.transit_types import COLLISION_LIMIT, DEPTH_LIMIT, SPECIAL, collide
from wagoe_jobs.errors import Undecodable

CACHE_SIZE = 44 * 44
_ZERO = ord("0")
_DIGITS = 44
_SHORTEST_CACHED = 4
_PARSERS = {"~" + letter: parser for letter, parser in scalars.PARSERS.items()}
_CACHED = ("~:", "~$", "~#")  # what is cached wherever it stands; a map key always is


class _Tag(str):
    """The name of a tag, where it stands in the place of a value."""

    __slots__ = ()


class Reader:
    """Reads one text, in its order. Without `cached`, it has no cache codes, and nothing is kept for them."""

    __slots__ = ("_cache", "_cached")

    def __init__(self, cached: bool = False) -> None:
        self._cached = cached
        self._cache: list[object] = []

    def value(self, node: Any, depth: int = 0, frozen: bool = False) -> Any:
        """The value of a parsed JSON node that lies in `depth` containers.

        `frozen` is for map keys and set members: there arrays are tuples, and sets frozensets.
        """
        kind = type(node)
        if kind is str:
            if node[:1] not in SPECIAL:
                return node
            parser = None if self._cached else _PARSERS.get(node[:2])
            return _no_tag(self._special(node, as_key=False)) if parser is None else parser(node[2:])
        if kind is not dict and kind is not list:
            return node
        tag, rep = self._tag_of(node)
        make = _CONTAINERS.get(tag)
        if make is None:
            return _scalar_of(tag, self._representation(rep))
        if depth >= DEPTH_LIMIT:
            raise Undecodable(f"containers are nested more than {DEPTH_LIMIT} deep")
        if tag is _MAP:
            return self.map(rep, depth + 1, frozen)
        return make(self._items(rep, depth + 1, tag, frozen), frozen)

    def map(self, node: Any, depth: int = 0, frozen: bool = False) -> dict[Any, Any]:
        """A map in either spelling, whose keys and values lie in `depth` containers."""
        if frozen:
            raise Undecodable("a map stands where only a key or a member of a set can be")
        if type(node) is dict:
            pairs: Iterable[tuple[Any, Any]] = node.items()
        elif type(node) is list and node[:1] == ["^ "] and len(node) % 2:
            pairs = zip(node[1::2], node[2::2], strict=True)
        else:
            raise Undecodable("a map is expected")
        keys, values = [], []
        for key, item in pairs:
            keys.append(self._key(key, depth))
            values.append(self.value(item, depth))
        return _mapped(keys, values)

    def _tag_of(self, node: Any) -> tuple[object, Any]:
        """What a container is, and of what it is made."""
        name, rep = None, node
        if type(node) is list:
            name = node[0] if node else None
            if name == "^ ":
                return _MAP, node
        elif len(node) == 1:
            ((name, rep),) = node.items()
        if type(name) is str and (name[:2] == "~#" or name[:1] == "^"):
            tag = self._special(name, as_key=type(node) is dict)
            if type(tag) is _Tag:
                return tag, rep if type(node) is dict else _only(node[1:])
        return (_MAP if type(node) is dict else _ARRAY), node

    def _items(self, rep: Any, depth: int, tag: object, frozen: bool) -> list[Any]:
        if type(rep) is not list or rep[:1] == ["^ "]:
            raise Undecodable("an array is expected behind a tag")
        keyed = tag == "cmap"
        frozen = frozen or tag in _UNORDERED
        items: list[Any] = []
        for item in rep:
            items.append(self.value(item, depth, frozen or (keyed and not len(items) % 2)))
        return items

    def _representation(self, rep: Any) -> Any:
        """What a scalar is made of: another scalar, or an array of them. Neither counts as a container."""
        if type(rep) is list:
            return [self.value(item, DEPTH_LIMIT) for item in rep]
        return self.value(rep, DEPTH_LIMIT)

    def _key(self, node: Any, depth: int) -> Any:
        if type(node) is not str:
            return self.value(node, depth, frozen=True)
        if node[:1] in SPECIAL:
            return _no_tag(self._special(node, as_key=True))
        if self._cached and len(node) >= _SHORTEST_CACHED:
            self._keep(node)
        return node

    def _special(self, text: str, as_key: bool) -> Any:
        """A string that may mean something else: a value, a tag, or what a cache code stands for."""
        if text[0] == "^":
            return self._looked_up(text)
        value = _parsed(text) if text[0] == "~" else text
        if self._cached and len(text) >= _SHORTEST_CACHED and (as_key or text[:2] in _CACHED):
            self._keep(value)
        return value

    def _keep(self, value: object) -> None:
        if len(self._cache) == CACHE_SIZE:
            self._cache.clear()
        self._cache.append(value)

    def _looked_up(self, code: str) -> object:
        digits = [ord(letter) - _ZERO for letter in code[1:3]]
        if not digits or len(code) > 3 or not all(0 <= digit < _DIGITS for digit in digits):
            raise Undecodable("a cache code is malformed")
        index = digits[0] if len(digits) == 1 else digits[0] * _DIGITS + digits[1]
        if len(digits) == 2 and index < _DIGITS:
            raise Undecodable("a cache code has a digit too many")
        if index >= len(self._cache):
            raise Undecodable("a cache code stands for nothing")
        return self._cache[index]


def _no_tag(value: Any) -> Any:
    if type(value) is _Tag:
        raise Undecodable("a tag stands where a value is expected")
    return value


def _array(items: list[Any], frozen: bool) -> Any:
    return tuple(items) if frozen else items


def _tuple(items: list[Any], frozen: bool) -> tuple[Any, ...]:
    return tuple(items)


def _set(items: list[Any], frozen: bool) -> Any:
    return _frozenset(items, frozen) if frozen else set(_frozenset(items, frozen))


def _frozenset(items: list[Any], frozen: bool) -> frozenset[Any]:
    _check_keys(items)
    members = frozenset(items)
    if len(members) < len(items) and len({(type(item), item) for item in items}) > len(members):
        raise Undecodable("a set tells values apart that are equal here")
    return members


def _cmap(items: list[Any], frozen: bool) -> dict[Any, Any]:
    if frozen or len(items) % 2:
        raise Undecodable("a map is no key, or a key has no value")
    return _mapped(items[::2], items[1::2])


def _scalar_of(tag: Any, value: Any) -> Any:
    """What a tag makes of one value: quoted, or the other spelling of a scalar, or a type of Python's own."""
    if tag == "'" and type(value) is not list:
        return value
    if tag in scalars.PARSERS and type(value) is str:
        return scalars.PARSERS[tag](value)
    read = _REPRESENTED.get(tag)
    if read is None:
        raise Undecodable("a tag is unknown")
    return read(value)


def _parsed(text: str) -> object:
    """The value of a string that begins with a tilde."""
    parser = _PARSERS.get(text[:2])
    if parser is not None:
        return parser(text[2:])
    letter = text[1:2]
    if letter == "#":
        return _Tag(text[2:])
    if letter and letter in "~^`":
        return text[1:]
    raise Undecodable("a string has an unknown tag")


def _only(items: list[Any]) -> Any:
    if len(items) != 1:
        raise Undecodable("a tag is expected to have one value")
    return items[0]


def _mapped(keys: list[Any], values: list[Any]) -> dict[Any, Any]:
    _check_keys(keys)
    built = dict(zip(keys, values, strict=True))
    if len(built) < len(keys):
        raise Undecodable("a map holds a key twice")
    return built


def _check_keys(keys: list[Any]) -> None:
    """Refuse what no dict or set can hold, or only in quadratic time."""
    try:
        hash(tuple(keys))
    except TypeError:
        raise Undecodable("a signalling not-a-number is no key") from None
    if len(keys) > COLLISION_LIMIT and collide(keys):
        raise Undecodable("too many keys or members have one hash")


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise Undecodable("a whole number is expected behind a tag")
    return value


def _from_text(parser: Callable[[str], object]) -> Callable[[Any], object]:
    def read(value: Any) -> object:
        if type(value) is not str:
            raise Undecodable("a string is expected behind a tag")
        return parser(value)

    return read


def _from_numbers(make: Callable[..., object], count: int) -> Callable[[Any], object]:
    def read(value: Any) -> object:
        if type(value) is not list or len(value) != count:
            raise Undecodable("an array of numbers is expected behind a tag")
        return make(*map(_whole, value))

    return read


_ARRAY, _MAP = object(), object()  # containers without a tag; no text can name them
_UNORDERED = ("set", "py/frozenset")
_CONTAINERS: dict[object, Callable[[list[Any], bool], Any]] = {
    _ARRAY: _array,
    _MAP: _cmap,  # a container like the others, though `Reader.map` reads it
    "list": _array,
    "set": _set,
    "cmap": _cmap,
    "py/tuple": _tuple,
    "py/frozenset": _frozenset,
}
_REPRESENTED: dict[str, Callable[[Any], object]] = {
    "i": _whole,
    "n": _whole,
    "m": lambda value: scalars.instant_of_millis(_whole(value)),
    "u": _from_numbers(scalars.uuid_of_halves, 2),
    "py/int": _from_text(scalars.hexadecimal),
    "py/decimal": _from_text(scalars.odd_decimal),
    "py/date": _from_text(scalars.day),
    "py/time": _from_text(scalars.time_of_day),
    "py/timedelta": _from_numbers(scalars.duration, 3),
}
