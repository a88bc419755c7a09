"""How long the wire codec takes, beside transit-python2 on the same values in the same run.

    python -m bench.codec            microseconds a job and ratios; best of several rounds
    python -m bench.codec growth     how time grows when hostile or large input doubles (linear is 2.0)
    python -m bench.codec --json     the figures as one JSON object

Targets, pure Python: a plain 14-field record of about 440 characters is encoded in at most 12 us and decoded in at
most 8 us; a job whose args are rich in tagged values in at most 25 us and 20 us.
"""

import io
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple
from uuid import UUID

from transit.reader import Reader
from transit.writer import Writer

from wagoe_jobs.core.codec import PAYLOAD_LIMIT, decode_job, decode_run, decode_value, encode_job, encode_value
from wagoe_jobs.core.job import Job, complete, make_job, start
from wagoe_jobs.core.transit_types import URI, Keyword
from wagoe_jobs.errors import JobsError

NOW = datetime(2026, 11, 30, 13, 30, 8, 123456, UTC)
ID = UUID("01937d3a-5c1e-7b6a-9f00-0123456789ab")
PLAIN_ARGS = {"user_id": 12345, "email": "ann@example.org", "tags": ["a", "b"], "retry": True, "ratio": 3.5}
RICH_ARGS = {
    "order": UUID(int=0x1234567890ABCDEF1234567890ABCDEF),
    "placed": NOW,
    "due": NOW + timedelta(days=3),
    "total": Decimal("129.95"),
    "state": Keyword("paid"),
    "labels": {"gift", "fragile"},
    "page": URI("https://example.org/orders/17"),
}
RECORD = {  # a job's 14 fields without a tag among them, so that the peer needs no parser of dates either
    "id": "01937d3a-5c1e-7b6a-9f00-0123456789ab",
    "job-type": "send-email",
    "queue": "mail",
    "args": {"user_id": 12345, "email": "ann@example.org", "tags": ["welcome", "first"], "copies": [1, 2.5, None]},
    "status": "pending",
    "priority": "high",
    "retry-count": 0,
    "max-retries": 5,
    "execute-at": 1732973408123,
    "created-at": 1732973408123,
    "updated-at": 1732973408123,
    "started-at": None,
    "metadata": {"tenant-id": "acme", "trace": "4bf92f3577b34da6a3ce929d0e0e4736", "sampled": True},
    "host": "web-1",
}
SECONDS = 0.02
ROUNDS = 25


class Figure(NamedTuple):
    """One thing measured: microseconds a call, and what they may be (None: nothing was promised)."""

    name: str
    us: float
    target: float | None = None


def waiting(args: object) -> Job:
    """A job as it is enqueued for later: 12 fields on the wire."""
    return make_job("send-email", args, id=ID, now=NOW, queue="mail", execute_at=NOW, metadata={"tenant-id": "acme"})


def ended(args: object) -> Job:
    """The same job after its run: 14 fields."""
    return complete(start(waiting(args), now=NOW), None, now=NOW)


JOBS = {  # with the microseconds that encoding and decoding may take
    "waiting": (waiting(PLAIN_ARGS), 12.0, 8.0),
    "plain": (ended(PLAIN_ARGS), 12.0, 8.0),
    "rich": (ended(RICH_ARGS), 25.0, 20.0),
}


def microseconds(call: Callable[[], object]) -> float:
    """The best round's mean: what the machine did besides is not the codec's."""
    count, elapsed = 1, 0.0
    while elapsed < SECONDS:
        count *= 2
        elapsed = _timed(call, count)
    return min(_timed(call, count) for _ in range(ROUNDS)) / count * 1e6


def figures() -> list[Figure]:
    text = encode_value(RECORD)
    found = [
        Figure(f"record: encode_value ({len(text)} characters)", microseconds(partial(encode_value, RECORD)), 12.0),
        Figure("record: decode_value", microseconds(partial(decode_value, text)), 8.0),
        *peer("record", text),
    ]
    for kind, (job, encode_target, decode_target) in JOBS.items():
        text = encode_job(job)
        found += [
            Figure(
                f"{kind}: encode_job ({len(text)} characters)", microseconds(partial(encode_job, job)), encode_target
            ),
            Figure(f"{kind}: decode_run", microseconds(partial(decode_run, text)), decode_target),
            Figure(f"{kind}: decode_job", microseconds(partial(decode_job, text)), decode_target),
        ]
        found += peer(kind, text)
    return found


def peer(kind: str, text: str) -> list[Figure]:
    """transit-python2 on the same fields and args, writer and reader reused, as it is documented."""
    fields: dict[Any, Any] = decode_value(text)
    buffer = io.StringIO()
    writer, reader = Writer(buffer, "json_verbose"), Reader("json")

    def encode() -> str:
        buffer.seek(0)
        buffer.truncate()
        writer.write(fields)
        return buffer.getvalue()

    written = encode()
    return [
        Figure(f"{kind}: transit-python2 encode", microseconds(encode)),
        Figure(f"{kind}: transit-python2 decode", microseconds(lambda: reader.read(io.StringIO(written)))),
    ]


def _timed(call: Callable[[], object], count: int) -> float:
    started = perf_counter()
    for _ in range(count):
        call()
    return perf_counter() - started


def doubling() -> dict[str, Callable[[int], str]]:
    """Input that is quadratic or worse for a careless reader, by size."""
    modulus = 2**61 - 1  # whole numbers that differ by multiples of it have one hash
    return {
        "a long string": lambda n: json.dumps(["x" * n]),
        "many keywords": lambda n: json.dumps(["~:word"] * (n // 8)),
        "cache codes": lambda n: json.dumps(["~:word"] + ["^0"] * (n // 6)),
        "cache wraps": lambda n: json.dumps([f"~:w{i:07}" for i in range(n // 13)]),
        "an array map": lambda n: json.dumps(["^ "] + [x for i in range(n // 12) for x in (f"k{i:06}", 0)]),
        "nested tags": lambda n: "[" + ",".join(['{"~#py/tuple":[' * 90 + "]}" * 90] * (n // 1530)) + "]",
        "keys of one hash": lambda n: json.dumps({f"~i{modulus * i}": 0 for i in range(1, n // 28)}),
        "members of one hash": lambda n: json.dumps({"~#set": [f"~n{modulus * i}" for i in range(1, n // 25)]}),
        "digits, bare": lambda n: "[" + "7" * n + "]",
        "digits, tagged": lambda n: json.dumps(["~n" + "7" * n]),
        "digits, hexadecimal": lambda n: json.dumps([{"~#py/int": "0x" + "7" * n}]),
        "digits of a fraction": lambda n: "[0." + "7" * n + "]",
        "a decimal": lambda n: json.dumps(["~f" + "7" * n]),
        "base64": lambda n: json.dumps(["~b" + "QUJD" * (n // 4)]),
        "brackets": lambda n: "[" * n,
        "almost an instant": lambda n: json.dumps(["~t2026-11-30T13:30:08." + "0" * n]),
        "escapes": lambda n: '["' + "\\u0041" * (n // 6) + '"]',
        "almost the key of args": lambda n: '{"~:id":"' + '\\"~:arg' * (n // 8) + '"}',
    }


def growth() -> None:
    """Ratios of the time for a whole payload to that for half of one; anything far from 2 is looked at."""
    for name, make in doubling().items():
        half, whole = (_reading(make(size)) for size in (PAYLOAD_LIMIT // 2, PAYLOAD_LIMIT))
        print(f"{name:26} {half * 1e3:9.2f} ms {whole * 1e3:9.2f} ms   x {whole / half:.2f}")
    for name, make_value in _large_values().items():
        half, whole = (_writing(make_value(size)) for size in (PAYLOAD_LIMIT // 2, PAYLOAD_LIMIT))
        print(f"{name:26} {half * 1e3:9.2f} ms {whole * 1e3:9.2f} ms   x {whole / half:.2f}   (encode)")


def _large_values() -> dict[str, Callable[[int], object]]:
    return {
        "plain numbers": lambda n: list(range(n // 8)),
        "a big number": lambda n: 16 ** (n - 20),
        "tuples": lambda n: [(1,)] * (n // 20),
        "keywords": lambda n: [Keyword("word")] * (n // 10),
    }


def _reading(text: str) -> float:
    def read() -> None:
        with suppress(JobsError):
            decode_value(text)

    return min(_timed(read, 1) for _ in range(3))


def _writing(value: object) -> float:
    return min(_timed(lambda: encode_value(value), 1) for _ in range(3))


def main(arguments: list[str]) -> None:
    if arguments == ["growth"]:
        growth()
        return
    found = figures()
    if arguments == ["--json"]:
        print(json.dumps([figure._asdict() for figure in found]))
        return
    peers = {(f.name.split(":")[0], f.name.split()[-1]): f.us for f in found if "transit-python2" in f.name}
    for figure in found:
        kind, step = figure.name.split(":")[0], "encode" if "encode" in figure.name else "decode"
        wanted = "" if figure.target is None else f"   at most {figure.target:g}"
        times = "" if figure.target is None else f"   {peers[kind, step] / figure.us:5.1f} x as fast"
        print(f"{figure.name:42} {figure.us:8.2f} us{wanted}{times}")


if __name__ == "__main__":
    main(sys.argv[1:])
