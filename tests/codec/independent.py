"""A second reader, short and slow, made from the format's description alone: what hostile text is compared with.

It raises any exception for what it does not read. It shares no code with the codec but the types.
"""

import base64
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from wagoe_jobs.core.transit_types import URI, Keyword, Symbol


class Tag:
    def __init__(self, name: str) -> None:
        self.name = name


class IndependentReader:
    """Reads one text."""

    def __init__(self) -> None:
        self.codes: dict[str, Any] = {}
        self.next = 0

    def read(self, text: str) -> Any:
        return self.value(json.loads(text), key=False, frozen=False)

    def value(self, node: Any, key: bool, frozen: bool) -> Any:
        value = self.raw(node, key, frozen)
        if isinstance(value, Tag):
            raise ValueError("a tag is no value")
        return value

    def raw(self, node: Any, key: bool, frozen: bool) -> Any:
        if isinstance(node, str):
            return self.string(node, key)
        if isinstance(node, dict):
            return self.object(node, frozen)
        if isinstance(node, list):
            return self.array(node, frozen)
        return node

    def string(self, text: str, key: bool) -> Any:
        if text.startswith("^") and text != "^ ":
            return self.codes[text]
        value = parsed(text)
        if len(text) > 3 and (key or text[:2] in ("~:", "~$", "~#")):
            if self.next == 1936:
                self.next, self.codes = 0, {}
            high, low = divmod(self.next, 44)
            self.codes["^" + (chr(48 + high) if high else "") + chr(48 + low)] = value
            self.next += 1
        return value

    def object(self, node: dict[str, Any], frozen: bool) -> Any:
        if len(node) == 1:
            (name, rep), *_ = node.items()
            tag = self.string(name, key=True) if name[:2] == "~#" or name[:1] == "^" else None
            if isinstance(tag, Tag):
                return self.tagged(tag.name, rep, frozen)
        return self.mapped(list(node.items()), frozen)

    def array(self, node: list[Any], frozen: bool) -> Any:
        if node and node[0] == "^ ":
            if len(node) % 2 == 0:
                raise ValueError("a key has no value")
            return self.mapped([(node[i], node[i + 1]) for i in range(1, len(node), 2)], frozen)
        items: list[Any] = []
        for index, item in enumerate(node):
            value = self.raw(item, False, frozen)
            if isinstance(value, Tag):
                if index or len(node) != 2:
                    raise ValueError("a tag is no value")
                return self.tagged(value.name, node[1], frozen)
            items.append(value)
        return tuple(items) if frozen else items

    def mapped(self, pairs: list[tuple[Any, Any]], frozen: bool) -> Any:
        if frozen:
            raise ValueError("a map is no key")
        found: dict[Any, Any] = {}
        for name, item in pairs:
            key = self.value(name, key=True, frozen=True)
            if key in found:
                raise ValueError("a key is there twice")
            found[key] = self.value(item, False, False)
        return found

    def tagged(self, tag: str, rep: Any, frozen: bool) -> Any:
        match tag:
            case "'":
                return self.value(rep, False, frozen)
            case "set" | "py/frozenset":
                members = [self.value(item, False, True) for item in listed(rep)]
                return frozenset(members) if frozen or tag != "set" else set(members)
            case "list" | "py/tuple":
                items = [self.value(item, False, frozen) for item in listed(rep)]
                return tuple(items) if frozen or tag != "list" else items
            case "cmap":
                if frozen or len(listed(rep)) % 2:
                    raise ValueError("not a map")
                found: dict[Any, Any] = {}
                for i in range(0, len(rep), 2):
                    key = self.value(rep[i], False, True)
                    if key in found:
                        raise ValueError("a key is there twice")
                    found[key] = self.value(rep[i + 1], False, False)
                return found
            case _:
                return own(tag, self.value(rep, False, False))


def listed(rep: Any) -> list[Any]:
    if not isinstance(rep, list) or rep[:1] == ["^ "]:
        raise ValueError("not an array")
    return rep


def own(tag: str, rep: Any) -> Any:
    match tag, rep:
        case "py/int", str():
            return int(rep, 16)
        case "py/decimal", str():
            return Decimal(rep)
        case "py/date", str():
            return date.fromisoformat(rep)
        case "py/time", str():
            return time.fromisoformat(rep)
        case "py/timedelta", [int(), int(), int()]:
            return timedelta(*rep)
        case "u", [int(), int()]:
            return UUID(int=((rep[0] % 2**64) << 64) + rep[1] % 2**64)
        case (("i" | "n"), int()):
            return rep
        case "m", int():
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=rep)
        case str(), str() if len(tag) == 1:
            return parsed("~" + tag + rep)
        case _:
            raise ValueError("an unknown tag")


def parsed(text: str) -> Any:
    if not text.startswith("~"):
        return text
    rest = text[2:]
    match text[1:2]:
        case "~" | "^" | "`":
            return text[1:]
        case "#":
            return Tag(rest)
        case ":":
            return Keyword(rest)
        case "$":
            return Symbol(rest)
        case "r":
            return URI(rest)
        case "_" if not rest:
            return None
        case "?":
            return {"t": True, "f": False}[rest]
        case "i":
            return int(rest) if rest.lstrip("+-").isdigit() else float(rest)
        case "n":
            return int(rest)
        case "d":
            return float(rest)
        case "z":
            return {"NaN": float("nan"), "INF": float("inf"), "-INF": float("-inf")}[rest]
        case "f":
            return Decimal(rest)
        case "b":
            return base64.b64decode(rest, validate=True)
        case "u":
            return UUID(rest)
        case "t":
            year, _, others = rest.partition("-")
            return datetime.fromisoformat(f"{year.zfill(4)}-{others}").astimezone(UTC)
        case "m":
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(rest))
        case "c" if len(rest) == 1:
            return rest
        case _:
            raise ValueError("an unknown tag")
