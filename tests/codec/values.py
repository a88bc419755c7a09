"""Values of every type that can be stored, and what it means that two of them are the same."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from wagoe_jobs.core.transit_types import URI, Keyword, Symbol

NOW = datetime(2026, 11, 30, 13, 30, 8, 123456, UTC)
ID = UUID("01937d3a-5c1e-7b6a-9f00-0123456789ab")

EVERY_TYPE: dict[str, Any] = {
    "null": None,
    "booleans": [True, False],
    "integers": [0, 1, -1, 2**53 - 1, 2**53, -(2**53), 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**40, -(10**700)],
    "floats": [0.1, 1.0, -0.0, 1e300, 5e-324, float("nan"), float("inf"), float("-inf")],
    "decimals": [
        Decimal("0.10"),
        Decimal("1E+30"),
        Decimal("-0"),
        Decimal("1E-999999"),
        Decimal("NaN"),
        Decimal("-Infinity"),
    ],
    "strings": ["", "plain", "~", "~a", "~#set", "^", "^ ", "^0", "`b", "é\U0001f600", '\x00\n"\\\u2028', "a" * 2000],
    "bytes": [b"", b"\x00\xff", bytes(range(256))],
    "uuids": [ID, UUID(int=0)],
    "instants": [NOW, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)],
    "dates": [date(2026, 11, 30), date.min, date.max],
    "times": [
        time(1, 2, 3),
        time(1, 2, 3, 4),
        time.max,
        time(1, 2, tzinfo=UTC),
        time(1, 2, tzinfo=timezone(timedelta(hours=-5, seconds=7))),
    ],
    "durations": [timedelta(0), timedelta(-1, 5, 6), timedelta.max, timedelta.min],
    "keywords": [Keyword("a"), Keyword("ns/name"), Keyword(""), Keyword("with space")],
    "symbols": [Symbol("a"), Symbol("ns/name")],
    "uris": [URI("https://example.org/?q=~x"), URI("")],
    "lists": [[], [[]], [1, [2, [3]]], ["^ ", 1], ["~#set", [1]]],
    "tuples": [(), (1,), (1, (2, [3]))],
    "sets": [set(), {1, 2}, {(1, (2,)), frozenset({3})}, {None, True, "x"}],
    "frozen sets": [frozenset(), frozenset({1, frozenset()})],
    "maps": [{}, {"a": {"b": {}}}, {"~#set": [1]}, {"^ ": 1}, {"": 0}],
    "keys of scalars": {
        "s": 1,
        2: 2,
        None: 3,
        True: 4,
        1.5: 5,
        ID: 6,
        NOW: 7,
        Keyword("k"): 8,
        b"b": 9,
        Decimal("1.10"): 10,
        2**70: 11,
    },
    "keys of containers": {
        (1, "two"): 1,
        frozenset({(1,)}): 2,
        date(2026, 11, 30): 3,
        timedelta(1): 4,
        "~x": 5,
        2**3000: 6,
    },
    "keys that are no number": {float("nan"): 1, float("-inf"): 2},
}


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of equal types throughout, not-a-number being itself and -0.0 not 0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and _same_members(list(one.items()), list(other.items()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, set | frozenset):
        return len(one) == len(other) and _same_members(list(one), list(other))
    if isinstance(one, float | Decimal):
        return repr(one) == repr(other)
    return bool(one == other)


def _same_members(ones: list[Any], others: list[Any]) -> bool:
    left = list(others)
    for one in ones:
        found = next((i for i, other in enumerate(left) if same(one, other)), None)
        if found is None:
            return False
        del left[found]
    return True


TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["~", "~:a", "^0", "^ ", "`", "~#set", "~~"])
INSTANTS = st.datetimes(timezones=st.just(UTC))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.decimals(allow_nan=False)
    | TEXT
    | st.binary()
    | st.uuids()
    | INSTANTS
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.builds(Keyword, TEXT)
    | st.builds(Symbol, TEXT)
    | st.builds(URI, TEXT)
)
KEYS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3), max_leaves=5
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=5).map(tuple)
        | st.sets(KEYS, max_size=4)
        | st.frozensets(KEYS, max_size=4)
        | st.dictionaries(TEXT, inner, max_size=5)
        | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=25,
)
