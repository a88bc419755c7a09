"""Whatever the text, reading it gives a value or Undecodable: no crash, no hang, no wrong value."""

import json
import random
import sys
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codec.independent import IndependentReader
from tests.codec.test_jobs import LIVES
from tests.codec.test_vectors import VECTORS
from tests.codec.values import EVERY_TYPE, same
from wagoe_jobs.core import codec
from wagoe_jobs.core.job import EPOCH, ErrorInfo, make_job
from wagoe_jobs.core.transit_types import Keyword
from wagoe_jobs.errors import Undecodable

MUTATIONS = 20_000
ONE_HASH = 2**61 - 1  # whole numbers that differ by multiples of it have one hash

WRONG = {
    "nothing": "",
    "space": " \n",
    "no JSON": "job",
    "two values": "[] []",
    "an open array": "[1",
    "a trailing comma": "[1,]",
    "a byte order mark": "\ufeff[]",
    "not-a-number": "[NaN]",
    "infinity": "[-Infinity]",
    "a number out of range": "[1e999]",
    "a number with too many digits": "[" + "9" * 5000 + "]",
    "a line break in a string": '["a\nb"]',
    "half a pair": '["\\ud800"]',
    "half a pair as a key": '{"\\uDFFF":1}',
    "two halves in the wrong order": '["\\udc00\\ud800"]',
    "a lone tilde": '["~"]',
    "an unknown letter": '["~x"]',
    "an unknown tag": '[{"~#point":[1,2]}]',
    "a link": '[{"~#link":{"href":"~rx"}}]',
    "a tag with no name": '[{"~#":1}]',
    "a tag as a value": '["~#set"]',
    "a tag as a key": '{"~#set":[],"a":1}',
    "a tag with no value": '[["~#set"]]',
    "a tag with two values": '[["~#set",[],[]]]',
    "a set that is no array": '[{"~#set":1}]',
    "a set that is a map": '[{"~#set":{}}]',
    "a set of an array map": '[{"~#set":["^ ",1,2]}]',
    "a set with a map": '[{"~#set":[{}]}]',
    "a set with a quoted array": '[{"~#set":[{"~#\'":[1]}]}]',
    "a set that tells 1 and true apart": '[{"~#set":[1,true]}]',
    "keys that are equal here": '{"~i1":1,"~?t":2}',
    "an array map that lacks a value": '["^ ","a"]',
    "an array map with a key twice": '["^ ","a",1,"a",2]',
    "a pair that lacks a value": '[{"~#cmap":[1]}]',
    "pairs that are no array": '[{"~#cmap":{}}]',
    "a map as a key": '[{"~#cmap":[{},1]}]',
    "a code for nothing": '["^0"]',
    "a code for what is not cached": '["~:a","^0"]',
    "a code past the last": '["~:abcd","^1"]',
    "a code out of range": '["~:abcd","^~"]',
    "a code that is too long": '["~:abcd","^000"]',
    "a code with a digit too many": '["~:abcd","^00"]',
    "a code of no digits": '["~:abcd","^"]',
    "the mark of a map elsewhere": '[1,"^ "]',
    "base64 that is cut": '["~bQQ"]',
    "base64 with a space": '["~bQU JD"]',
    "base64 of another alphabet": '["~b-_-_"]',
    "a UUID that is short": '["~u01937d3a"]',
    "a UUID in braces": '["~u{01937d3a-5c1e-7b6a-9f00-0123456789ab}"]',
    "half a UUID": '[{"~#u":[1]}]',
    "half a UUID out of range": f'[{{"~#u":[{2**63},0]}}]',
    "an instant without a zone": '["~t2026-11-30T13:30:08"]',
    "an instant that is a date": '["~t2026-11-30"]',
    "an instant in a week": '["~t2026-W48-1T13:30:08Z"]',
    "a day that is none": '["~t2026-02-30T13:30:08Z"]',
    "an hour that is none": '["~t2026-11-30T24:30:08Z"]',
    "an instant too fine": '["~t2026-11-30T13:30:08.1234567Z"]',
    "an instant before the year 1": '["~t0001-01-01T00:00:00+01:00"]',
    "milliseconds out of range": '["~m99999999999999999"]',
    "milliseconds with a fraction": '["~m1.5"]',
    "a number with an underscore": '["~n1_000"]',
    "a number of other digits": '["~n\u0661"]',
    "a number with a space": '["~n 1"]',
    "a number with too many digits, tagged": '["~n' + "9" * 5000 + '"]',
    "a fraction that is no number": '["~dNaN"]',
    "a fraction out of range": '["~d1e999"]',
    "a special number of another name": '["~zInfinity"]',
    "a decimal of no digits": '["~f."]',
    "a decimal that is not finite": '["~fNaN"]',
    "a decimal out of range": '["~f1E+9999999999999999999"]',
    "a boolean of another letter": '["~?x"]',
    "a null with a value": '["~_x"]',
    "two characters": '["~cab"]',
    "a date of another form": '[{"~#py/date":"20261130"}]',
    "a time of another form": '[{"~#py/time":"13"}]',
    "a time that is none": '[{"~#py/time":"25:00:00"}]',
    "a duration of two": '[{"~#py/timedelta":[1,2]}]',
    "a duration that is not normal": '[{"~#py/timedelta":[0,90000,0]}]',
    "a duration out of range": '[{"~#py/timedelta":[9999999999,0,0]}]',
    "a duration of truths": '[{"~#py/timedelta":[true,0,0]}]',
    "hexadecimal of other digits": '[{"~#py/int":"0xg"}]',
    "hexadecimal of a number": '[{"~#py/int":5}]',
    "a signalling decimal in a set": '[{"~#set":[{"~#py/decimal":"sNaN"}]}]',
    "an array too deep": "[" * 201 + "]" * 201,
    "a map too deep": '{"a":' * 201 + "1" + "}" * 201,
    "tuples too deep": '{"~#py/tuple":[' * 201 + "]}" * 201,
    "quotes without end": '{"~#\'":' * 2000 + "1" + "}" * 2000,
    "scalars in scalars": '["~#u",[' * 300 + "1" + "]]" * 300,
    "brackets without end": "[" * 100_000,
    "braces without end": '{"a":' * 100_000,
    "keys of one hash": json.dumps({f"~n{n * ONE_HASH}": 0 for n in range(1, 20_000)}),
    "members of one hash": json.dumps({"~#set": [f"~n{n * ONE_HASH}" for n in range(1, 20_000)]}),
    "UUIDs of one hash": json.dumps({"~#set": [{"~#u": list(divmod(n * ONE_HASH, 2**64))} for n in range(1, 9_000)]}),
    "tuples of one hash": json.dumps({"~#set": [[f"~n{n * ONE_HASH}"] for n in range(1, 20_000)]}),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.timeout(20)
def test_wrong_text_is_undecodable(name):
    for decode in (codec.decode_value, codec.decode_job, codec.decode_run, codec.decode_error):
        with pytest.raises(Undecodable):
            decode(WRONG[name])


@pytest.mark.parametrize("name", [name for name in WRONG if len(WRONG[name]) < 1000 and "a code" not in name])
def test_wrong_args_make_the_job_undecodable(name):
    text = codec.encode_job(LIVES["waiting"]).replace('{"to":"ann@example.org"}', WRONG[name])
    for decode in (codec.decode_job, codec.decode_run):
        with pytest.raises(Undecodable):
            decode(text)


@pytest.mark.parametrize("name", WRONG)
def test_the_reason_does_not_quote_the_text(name):
    with pytest.raises(Undecodable) as error:
        codec.decode_value(WRONG[name])
    assert len(error.value.reason) < 120
    assert not any(word in error.value.reason for word in ("2026", "01937d3a", "999", "abcd"))


READ = {
    "an empty array map": ('["^ "]', {}),
    "a backquote without its escape": ('["`a"]', ["`a"]),
    "a keyword of no letters": ('["~:"]', [Keyword("")]),
    "a key twice in an object: the last stands": ('{"a":1,"a":2}', {"a": 2}),
    "members twice": ('{"~#set":[1,1]}', {1}),
    "quoted twice": ('{"~#\'":{"~#\'":5}}', 5),
    "bare": ("5", 5),
    "a tag by its code": ('[{"~#set":[1]},["^0",[2]],{"^0":[3]}]', [{1}, {2}, {3}]),
    "a pair of escapes": ('["\\ud83d\\ude00"]', ["\U0001f600"]),
    "an escaped backslash": ('["\\\\ud800"]', ["\\ud800"]),
    "pairs of arrays": ('{"~#cmap":[[1,[2]],["a"]]}', {(1, (2,)): ["a"]}),
}


@pytest.mark.parametrize("name", READ)
def test_odd_text_that_means_something_is_read(name):
    text, value = READ[name]
    assert same(codec.decode_value(text), value)


@pytest.mark.fault(63)
@pytest.mark.parametrize("count", [43, 44, 45, 1935, 1936, 1937, 3000, 3872, 3873])
def test_codes_follow_the_cache_across_its_wrap(count):
    """The writer's side of the cache, as the format describes it: an index from 0, and all forgotten at 1936."""
    codes: dict[str, str] = {}
    raw: list[str] = []
    words = [f"~:w{i:06}" for i in range(count)]
    for word in [item for i in range(count) for item in (words[i], words[i // 2], words[max(i - 100, 0)])]:
        if word in codes:
            raw.append(codes[word])
            continue
        if len(codes) == 1936:
            codes.clear()
        high, low = divmod(len(codes), 44)
        codes[word] = "^" + (chr(48 + high) if high else "") + chr(48 + low)
        raw.append(word)
    read = codec.decode_value(json.dumps(raw))
    assert [str(word) for word in read] == [words[j][2:] for i in range(count) for j in (i, i // 2, max(i - 100, 0))]


def mutated(text: str, chance: random.Random) -> str:
    """`text` after one to three small accidents of the kind that storage, editors and attackers have."""
    pieces = [
        '"',
        "~",
        "^",
        "`",
        "~#",
        "^ ",
        "^0",
        "\\",
        "\\u007e",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "0",
        "-",
        "e",
        "~:",
        "null",
        " ",
        "\x00",
    ]
    for _ in range(chance.randint(1, 3)):
        at, length = chance.randrange(len(text) + 1), chance.randint(0, 12)
        match chance.randrange(5):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + chance.choice(pieces) + text[at:]
            case 2:
                text = text[:at] + chance.choice(pieces) + text[at + 1 :]
            case 3:
                other = chance.randrange(len(text) + 1)
                text = text[:at] + text[other : other + length * 4] + text[at:]
            case _:
                text = (
                    text[:at] + chr(chance.choice([chance.randrange(128), chance.randrange(0xD800)])) + text[at + 1 :]
                )
    return text


def cached(node):
    """An object's spelling as arrays, with cache codes left out: they are optional for a writer."""
    if isinstance(node, dict):
        if len(node) == 1 and next(iter(node)).startswith("~#"):
            return [next(iter(node)), cached(next(iter(node.values())))]
        return ["^ ", *(item for key, value in node.items() for item in (key, cached(value)))]
    return [cached(item) for item in node] if isinstance(node, list) else node


TEXTS = [codec.encode_job(job) for job in LIVES.values()]
TEXTS += [codec.encode_value(value) for value in EVERY_TYPE.values()]
TEXTS = [text for text in TEXTS if len(text) < 3000]
TEXTS += [json.dumps(cached(json.loads(text)), ensure_ascii=False) for text in TEXTS]
TEXTS += [text for vector in VECTORS for text in (vector["json"], vector.get("verbose", "")) if 0 < len(text) < 3000]


def test_mutated_payloads_are_undecodable_or_read_as_another_reader_does():
    chance = random.Random(20261130)
    outcomes = {True: 0, False: 0}
    for _ in range(MUTATIONS):
        text = mutated(chance.choice(TEXTS), chance)
        try:
            value = codec.decode_value(text)
        except Undecodable:
            outcomes[False] += 1
            continue
        assert same(value, IndependentReader().read(text)), text
        outcomes[True] += 1
    assert min(outcomes.values()) > MUTATIONS // 20, outcomes  # neither end of the road is all there is


def test_mutated_jobs_are_undecodable_or_read_as_another_reader_does():
    chance = random.Random(1130)
    jobs = [text for text in TEXTS if "job-type" in text]
    for _ in range(MUTATIONS):
        text = mutated(chance.choice(jobs), chance)
        try:
            run = codec.decode_run(text)
        except Undecodable:
            with pytest.raises(Undecodable):
                codec.decode_job(text)
            continue
        try:
            fields = {str(key): value for key, value in IndependentReader().read(text).items()}
        except ValueError:  # an instant of the head that is not in the calendar, which a run has no use for
            with pytest.raises(Undecodable):
                codec.decode_job(text)
            continue
        assert same(run.args, fields.get("args", {})), text
        assert (run.id, run.type) == (str(fields["id"]), str(fields["job-type"])), text
        assert (run.retry_count, run.max_retries) == (fields.get("retry-count", 0), fields.get("max-retries", 3)), text


@settings(max_examples=300, deadline=None)
@given(st.text() | st.from_regex(r"[\[\{\"~^#:` a-c0-2,\]\}]{0,40}", fullmatch=True))
def test_any_text_at_all_gives_a_value_or_undecodable(text):
    for decode in (codec.decode_value, codec.decode_job, codec.decode_run, codec.decode_error):
        with suppress(Undecodable):
            decode(text)


@pytest.mark.timeout(20)
def test_many_digits_take_no_quadratic_time_whatever_the_host_allows():
    allowed = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        for text in ("[" + "9" * 900_000 + "]", '["~n' + "9" * 900_000 + '"]', '["~i' + "9" * 900_000 + '"]'):
            with pytest.raises(Undecodable):
                codec.decode_value(text)
    finally:
        sys.set_int_max_str_digits(allowed)


def test_two_hundred_levels_are_read_with_half_the_stack_used():
    deep = codec.encode_value(json.loads("[" * 200 + "]" * 200))
    tuples = '{"~#py/tuple":[' * 200 + "]}" * 200

    def deeper(levels):
        return codec.decode_value(deep), codec.decode_value(tuples) if levels == 0 else deeper(levels - 1)

    assert deeper(300)


NO_MAPS = ['"x"', "[1]", "5", "true", "null", "[]", '{"~#m":5}', '{"~#set":[]}', '{"~#\'":"x"}', '{"~#py/int":"0x1"}']


@pytest.mark.parametrize("field", ["metadata", "error"])
@pytest.mark.parametrize("text", NO_MAPS)
def test_what_stands_in_the_place_of_a_map_is_undecodable(field, text):
    error = ErrorInfo(type="t", message="m")
    payload = codec.encode_job(replace(make_job("t", id=UUID(int=1), now=EPOCH, metadata={"k": "v"}), error=error))
    spelled = {"metadata": '{"~:k":"v"}', "error": codec.encode_error(error)}[field]
    assert spelled in payload
    for decode in (codec.decode_job, codec.decode_run):
        assert decode(payload)
        if (field, text) != ("error", "null"):
            with pytest.raises(Undecodable):
                decode(payload.replace(spelled, text))
