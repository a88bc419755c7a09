"""Sends the customers' file to the web node, over several connections at once.

A line that is no order is told with its number and the reason, and the others go on. While the shop is closed, or
no answer comes, the same order is sent again: the web node makes one of two.
"""

import csv
import json
import threading
import time
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

import httpx

CONNECTIONS = 6
COLUMNS = ("order", "name", "email", "street", "postcode", "town", "country", "articles")
LONGEST_PAUSE = 5.0
STOP_SECONDS = 5.0
CLOSED = 503


class Malformed(NamedTuple):
    """A line that is no order, counted from 1."""

    line: int
    reason: str


class Read(NamedTuple):
    """One order as it goes to the web node; whether it makes sense is for that to say."""

    line: int
    order: Mapping[str, object]


class Refused(NamedTuple):
    line: int
    order: str
    status: int
    reason: str


@dataclass(slots=True)
class Fed:
    """What became of the lines; `again` are orders that had been taken before, in this run or an earlier one."""

    taken: set[str] = field(default_factory=set)
    again: int = 0
    malformed: list[Malformed] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    repeats: int = 0

    @property
    def lines(self) -> int:
        """How many are done with: each stands in one of these."""
        return len(self.taken) + self.again + len(self.malformed) + len(self.refused)


class Feeder:
    """Threads that take one line after the other; a context manager, which stops them at its end.

    `trouble` is why the last request has to be repeated, None if it has not.
    """

    def __init__(self, file: Path, url: str) -> None:
        self._rows = read_orders(file)
        self._url = url
        self._lock = threading.Lock()
        self._stop = threading.Event()
        # daemons: an interrupt may come while they are started, when nobody would stop them
        self._threads = [threading.Thread(target=self._run, name=f"feed-{n}", daemon=True) for n in range(CONNECTIONS)]
        self._error: BaseException | None = None
        self.fed = Fed()
        self.trouble: str | None = None

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        deadline = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    @property
    def done(self) -> bool:
        """Whether every line was sent and answered. Raises what ended a thread."""
        if self._error is not None:
            raise self._error
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        try:
            with httpx.Client(base_url=self._url, timeout=30.0) as client:
                while not self._stop.is_set() and (row := self._next()) is not None:
                    self._send(client, row)
        except BaseException as error:  # noqa: BLE001 - raised by whoever asks whether it is done
            self._error = error
            self._stop.set()

    def _next(self) -> Read | None:
        with self._lock:
            for row in self._rows:
                if isinstance(row, Read):
                    return row
                self.fed.malformed.append(row)
        return None

    def _send(self, client: httpx.Client, row: Read) -> None:
        key = str(row.order["order"])
        answer = self._answer(client, row.order)
        if answer is None:
            return
        with self._lock:
            if answer.status_code == 201 or (answer.status_code == 200 and key not in self.fed.taken):
                self.fed.taken.add(key)
            elif answer.status_code == 200:
                self.fed.again += 1
            else:
                self.fed.refused.append(Refused(row.line, key, answer.status_code, reason_in(answer)))

    def _answer(self, client: httpx.Client, order: Mapping[str, object]) -> httpx.Response | None:
        """The answer, however long it takes; None when it is stopped meanwhile. The order's number makes it safe."""
        pause = 0.1
        while not self._stop.is_set():
            answer = self._post(client, "/orders", order)
            if answer is not None and answer.status_code != CLOSED:
                return answer
            asked = "" if answer is None else answer.headers.get("retry-after", "")
            with self._lock:
                self.fed.repeats += 1
            self._stop.wait(min(float(asked) if asked.isdigit() else pause, LONGEST_PAUSE))
            pause = min(2 * pause, LONGEST_PAUSE)
        return None

    def ask_for_report(self, name: str) -> bool:
        """Let the web node enqueue the report, once however often it is asked; False while the shop is closed."""
        with httpx.Client(base_url=self._url, timeout=10.0) as client:
            answer = self._post(client, "/reports", {"name": name})
        if answer is None or answer.status_code == CLOSED:
            return False
        if not answer.is_success:
            raise RuntimeError(f"the web node refuses the report: {reason_in(answer)}")
        return True

    def _post(self, client: httpx.Client, path: str, body: Mapping[str, object]) -> httpx.Response | None:
        """None when no answer comes. Raises RuntimeError for one that no repeat would mend: the node is broken."""
        try:
            answer = client.post(path, content=json.dumps(body))
        except httpx.TransportError as error:
            self.trouble = f"the web node does not answer: {error}"
            return None
        self.trouble = None
        if answer.status_code == CLOSED:
            self.trouble = f"the web node answers {CLOSED}: {reason_in(answer)}"
        elif answer.is_server_error:
            raise RuntimeError(f"the web node answered {answer.status_code}: see its log")
        return answer


def read_orders(file: Path) -> Iterator[Read | Malformed]:
    """Line by line, so that a quote without an end spoils one and not the rest.

    Raises ValueError when the first line does not name the columns.
    """
    lines = file.read_bytes().removeprefix(BOM_UTF8).split(b"\n")
    if not _names_the_columns(lines[0]):
        raise ValueError(f"{file} must be UTF-8 and begin with the line {','.join(COLUMNS)}")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines[1:], 2):
        try:
            yield Read(number, _order(line))
        except UnicodeDecodeError as error:
            yield Malformed(number, f"is not UTF-8, at byte {error.start}")
        except (csv.Error, ValueError) as error:
            yield Malformed(number, str(error))


def _names_the_columns(line: bytes) -> bool:
    try:
        return _columns(line) == list(COLUMNS)
    except (csv.Error, ValueError):
        return False


def _order(line: bytes) -> dict[str, object]:
    columns = _columns(line)
    if not columns:
        raise ValueError("is empty")
    if len(columns) != len(COLUMNS):
        raise ValueError(f"has {len(columns)} columns instead of {len(COLUMNS)}")
    told: dict[str, object] = dict(zip(COLUMNS, columns, strict=True))
    return {**told, "articles": [_wanted(entry) for entry in columns[-1].split()]}


def _columns(line: bytes) -> list[str]:
    text = line.decode().removesuffix("\r")
    if "\x00" in text:
        raise ValueError("has a zero byte")
    return next(csv.reader([text], strict=True), [])


def _wanted(entry: str) -> dict[str, object]:
    article, _, quantity = entry.partition("*")
    if not (quantity.isascii() and quantity.isdigit() and len(quantity) < 10):
        raise ValueError(f"has no number in {entry[:40]!r}: write CODE*2")
    return {"article": article, "quantity": int(quantity)}


def reason_in(answer: httpx.Response) -> str:
    """What the web node says is wrong."""
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:200]
