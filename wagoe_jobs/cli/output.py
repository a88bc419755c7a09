"""What the script writes: tables for people or one JSON document for programs, never both.

Whatever comes from a job may be hostile. Text for a terminal goes through `clean`, which leaves no control
character, and reaches rich as `Text`, which knows no markup.
"""

import base64
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TextIO

from rich.console import Console
from rich.text import Text

from wagoe_jobs.cli.tables import Column, laid_out
from wagoe_jobs.core.clean import clean

MOST_BITS = 14_000
"""A whole number of more is written in base 16: neither Python nor most readers of JSON take so many digits."""


def clean_lines(text: str) -> str:
    """`text` with its line breaks and tabs kept and nothing else that a terminal would obey."""
    return "\n".join(clean(line.replace("\t", "    ")) for line in text.splitlines())


def plain(value: object) -> object:
    """A value of a job as the nearest JSON: instants and what JSON lacks become text, keys become strings."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if value.bit_length() <= MOST_BITS else hex(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {key if isinstance(key, str) else str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted((plain(item) for item in value), key=repr)
        case bytes():
            return base64.b64encode(value).decode()
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case timedelta():
            return value.total_seconds()
        case _:
            return str(value)


class ReaderGone(Exception):
    """The answer cannot be written any more; the text says why, and is empty for a reader that only went away."""


class Output:
    """Where a command's answer goes. With `as_json` it is one document, sorted and on one line."""

    def __init__(self, *, as_json: bool, out: TextIO | None = None) -> None:
        self.as_json = as_json
        self._out = out or sys.stdout
        self.terminal = self._out.isatty()
        """Whether a person looks at it: there a row fits the window, and instants are told as how long ago."""
        self._console = Console(file=self._out, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def document(self, document: Mapping[str, object]) -> None:
        """The answer of a command with --json."""
        # ASCII only: what a terminal might obey is escaped, and no encoding can fail
        self.raw(json.dumps(plain(document), sort_keys=True) + "\n")

    def line(self, text: str) -> None:
        self._print(Text(clean(text)))

    def raw(self, text: str) -> None:
        """Text of our own making that is meant to be piped on, as SQL."""
        with self._writing():
            self._out.write(text)
            self._out.flush()

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
        for line in laid_out(columns, list(rows), self._console.width if self.terminal else None):
            self._print(line)

    def _print(self, what: Text) -> None:
        with self._writing(), self._console.capture() as captured:  # rich would end the process for a reader that goes
            self._console.print(what)
        self.raw(captured.get())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Around a write of the answer. Raises ReaderGone when it fails."""
        try:
            yield
        except OSError as error:
            give_up(self._out)
            raise ReaderGone(*_why_unwritten(error)) from None


def _why_unwritten(error: OSError) -> Sequence[str]:
    """Why the answer could not be written, for people; nothing where its reader went away, as `| head` does."""
    return () if isinstance(error, BrokenPipeError) else (f"the answer cannot be written: {error.strerror}",)


def give_up(stream: TextIO) -> None:
    """Write no more to it: what is left in its buffer would fail once more at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def mend_streams() -> None:
    """Let no character, and no stream that the caller closed, keep a command from answering."""
    sys.stdout, sys.stderr = _mended(sys.stdout), _mended(sys.stderr)


def _mended(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def complain(message: str) -> None:
    """One line on stderr: why the script ends, or what the answer leaves unsaid."""
    tell(f"wagoe-jobs: {clean(message)}\n")


def tell(text: str) -> None:
    """Write to stderr. Where that is full or read by nobody there is no other place to say so."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        give_up(sys.stderr)
