"""What cannot be stored is refused before anything is, with the path to it and what to do instead."""

import dataclasses
from collections import Counter, OrderedDict, defaultdict, namedtuple
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from uuid import UUID
from zoneinfo import ZoneInfo

import pydantic
import pytest

from tests.codec.values import ID, NOW
from wagoe_jobs.core import codec
from wagoe_jobs.core.job import ErrorInfo, make_job
from wagoe_jobs.core.transit_types import URI, Keyword
from wagoe_jobs.errors import InvalidJob, PayloadTooLarge

Point = namedtuple("Point", "x y")


class Number(IntEnum):
    ONE = 1


class Word(StrEnum):
    A = "a"


class Colour(Enum):
    RED = 1


class Text(str):
    __slots__ = ()


class Moment(datetime):
    pass


class Id(UUID):
    pass


class Amount(Decimal):
    pass


class Model(pydantic.BaseModel):
    x: int = 1


@dataclasses.dataclass
class Record:
    x: int = 1


REFUSED = {
    "an int enum": (Number.ONE, ".value"),
    "a str enum": (Word.A, ".value"),
    "an enum": (Colour.RED, ".value"),
    "a named tuple": (Point(1, 2), "_asdict()"),
    "an ordered dict": (OrderedDict(a=1), "a plain dict"),
    "a default dict": (defaultdict(list), "a plain dict"),
    "a counter": (Counter("a"), "a plain dict"),
    "a str of another class": (Text("a"), "a plain str"),
    "a datetime of another class": (Moment(2026, 1, 1, tzinfo=UTC), "a plain datetime"),
    "a UUID of another class": (Id(int=1), "a plain UUID"),
    "a decimal of another class": (Amount(1), "a plain Decimal"),
    "a byte array": (bytearray(b"x"), "bytes(...)"),
    "a view of bytes": (memoryview(b"x"), "bytes(...)"),
    "a path": (Path("x"), "str(...)"),
    "a model": (Model(), ".model_dump()"),
    "a data class": (Record(), "asdict(...)"),
    "a generator": ((x for x in "a"), "list(...)"),
    "a view of keys": ({}.keys(), "plain data"),
    "a range": (range(3), "plain data"),
    "a complex number": (1j, "plain data"),
    "a function": (len, "plain data"),
    "a class": (int, "plain data"),
    "an object": (object(), "plain data"),
    "a naive datetime": (datetime(2026, 1, 1), "a time zone"),  # noqa: DTZ001 - the fault itself
    "a time of day in a zone": (time(1, tzinfo=ZoneInfo("Europe/Amsterdam")), "the zone's name"),
    "an instant before the year 1": (datetime.min.replace(tzinfo=ZoneInfo("Asia/Tokyo")), "outside the years"),
    "half a surrogate pair": ("a\ud800", "surrogate"),
    "half a pair in a keyword": (Keyword("\udc00"), "surrogate"),
    "half a pair in a URI": (URI("x\ud800"), "surrogate"),
    "a URI that is no text": (URI(5), "str"),
}


@pytest.mark.fault(56)
@pytest.mark.parametrize("name", REFUSED)
def test_a_value_is_refused_with_its_path_and_what_to_do(name):
    value, advice = REFUSED[name]
    with pytest.raises(InvalidJob) as refusal:
        codec.encode_value({"to": ["a", {"b": 1}, value]})
    assert refusal.value.path == 'args["to"][2]'
    assert advice in refusal.value.reason
    with pytest.raises(InvalidJob):
        codec.encode_value(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({Number.ONE: 1}, "args[<Number.ONE: 1>]"),
        ({"a": {("x", Number.ONE): 1}}, "args[\"a\"][('x', <Number.ONE: 1>)][1]"),
        ([{1, Colour.RED} - {1}], "args[0][<Colour.RED: 1>]"),
        ({"t": (0, [object])}, 'args["t"][1][0]'),
        ({(1,): {"x": object}}, 'args[(1,)]["x"]'),
        ({Keyword("k"): object}, f"args[{Keyword('k')!r}]"),
        ({"\ud800": 1}, r'args["\ud800"]'),
        ({datetime(2026, 1, 1): 1}, "args[datetime.datetime(2026, 1, 1, 0, 0)]"),  # noqa: DTZ001 - the fault itself
    ],
)
def test_the_path_leads_through_every_container(value, path):
    with pytest.raises(InvalidJob) as refusal:
        codec.encode_value(value)
    assert refusal.value.path == path


def test_a_long_path_is_told_by_its_ends():
    circle: list[object] = []
    circle.append({"again": circle})
    with pytest.raises(InvalidJob) as refusal:
        codec.encode_value(circle)
    assert refusal.value.path.startswith('args[0]["again"][0]["again"]')
    assert len(refusal.value.path) < 200


def nested(depth, wrap):
    value: object = 0
    for _ in range(depth):
        value = wrap(value)
    return value


WRAPS = {
    "lists": lambda value: [value],
    "maps": lambda value: {"k": value},
    "tuples": lambda value: (value,),
    "composite keys": lambda value: {date.min: value},
    "tuples in a key": lambda value: (value,),
}


@pytest.mark.parametrize("name", WRAPS)
def test_two_hundred_levels_are_kept_and_one_more_is_refused(name):
    deepest = nested(200, WRAPS[name])
    assert codec.decode_value(codec.encode_value(deepest)) == deepest
    with pytest.raises(InvalidJob, match="200 deep"):
        codec.encode_value(nested(201, WRAPS[name]))
    job = make_job("t", deepest, id=ID, now=NOW, metadata={"m": nested(199, WRAPS[name])})
    assert codec.decode_job(codec.encode_job(job)) == job
    with pytest.raises(InvalidJob, match="200 deep"):
        codec.encode_job(make_job("t", id=ID, now=NOW, metadata={"m": nested(200, WRAPS[name])}))


def test_keys_nest_as_deep_as_values():
    key = nested(199, lambda value: (value,))
    assert codec.decode_value(codec.encode_value({key: 1})) == {key: 1}
    with pytest.raises(InvalidJob, match="200 deep"):
        codec.encode_value({(key,): 1})


@pytest.mark.parametrize("wrap", [lambda v: [v, v], lambda v: {"a": v, "b": v}, lambda v: (v, v)])
@pytest.mark.timeout(20)
def test_a_value_that_is_shared_many_times_takes_no_exponential_time(wrap):
    with pytest.raises(PayloadTooLarge):
        codec.encode_value(nested(150, wrap))


@pytest.mark.parametrize("big", [["x" * 1000] * 1_000_000, [Keyword("x" * 1000)] * 1_000_000, [0] * 1_000_000])
@pytest.mark.timeout(20)
def test_what_surely_is_too_large_is_refused_before_it_is_written(big):
    with pytest.raises(PayloadTooLarge) as refusal:
        codec.encode_value(big)
    assert refusal.value.size > refusal.value.limit == 1_000_000


def test_the_limit_counts_the_whole_payload():
    room = codec.PAYLOAD_LIMIT - len(codec.encode_job(make_job("t", {"x": ""}, id=ID, now=NOW)))
    assert len(codec.encode_job(make_job("t", {"x": "y" * room}, id=ID, now=NOW))) == codec.PAYLOAD_LIMIT
    with pytest.raises(PayloadTooLarge, match=r"1,000,001 characters, the limit is 1,000,000"):
        codec.encode_job(make_job("t", {"x": "y" * (room + 1)}, id=ID, now=NOW))


def test_keys_of_one_hash_are_refused():
    colliding = [n * (2**61 - 1) for n in range(1, 200)]
    for value in (dict.fromkeys(colliding), set(colliding)):
        with pytest.raises(InvalidJob, match="same hash"):
            codec.encode_value([value])


def test_two_keys_that_are_one_instant_are_refused():
    second = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Amsterdam"), fold=1)
    keys = {second: 1, second.astimezone(UTC): 2}
    assert len(keys) == 2
    with pytest.raises(InvalidJob, match="same instant"):
        codec.encode_value(keys)


@pytest.mark.parametrize("field", ["type", "queue"])
def test_names_that_are_no_text_are_refused(field):
    job = make_job("t", id=ID, now=NOW)
    for wrong in ("\ud800", 5, Word.A):
        with pytest.raises(InvalidJob) as refusal:
            codec.encode_job(dataclasses.replace(job, **{field: wrong}))
        assert refusal.value.path == field


@pytest.mark.fault(56)
@pytest.mark.parametrize("field", ["created_at", "updated_at", "execute_at", "started_at", "completed_at"])
def test_a_naive_instant_of_a_job_is_refused(field):
    job = dataclasses.replace(make_job("t", id=ID, now=NOW), **{field: datetime(2026, 1, 1)})  # noqa: DTZ001
    with pytest.raises(InvalidJob, match="naive") as refusal:
        codec.encode_job(job)
    assert refusal.value.path == field


def test_metadata_and_details_are_named_in_the_path():
    job = make_job("t", id=ID, now=NOW, metadata={"a": {"b": object()}})
    with pytest.raises(InvalidJob) as refusal:
        codec.encode_job(job)
    assert refusal.value.path == 'metadata["a"]["b"]'
    with pytest.raises(InvalidJob) as refusal:
        codec.encode_error(ErrorInfo(type="t", message="m", details=[date]))
    assert refusal.value.path == "error.details[0]"


def test_an_errors_own_texts_are_never_refused():
    error = ErrorInfo(type="odd \ud800 type", message="~a\ud800", exception_class="^x", stacktrace="")
    read = codec.decode_error(codec.encode_error(error))
    assert (read.type, read.message, read.exception_class, read.stacktrace) == (
        "odd \\ud800 type",
        "~a\\ud800",
        "^x",
        "",
    )
    assert codec.decode_error(codec.encode_error(ErrorInfo(type="", message=""))).type == "unknown"


def test_durations_beyond_a_day_are_refused_nowhere():
    assert codec.decode_value(codec.encode_value([timedelta(days=400)])) == [timedelta(days=400)]
