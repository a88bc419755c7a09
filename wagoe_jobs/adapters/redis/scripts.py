"""The scripts of `lua/`, each with the shared pieces that its header asks for: `-- needs: now, keys`.

A piece may need others; each is put in once, before who needs it. All get the same first arguments:

    KEYS[1]   the prefix and "seq", by which a cluster finds the node; every other key is made from it
    ARGV[1]   how far the store's clock is moved, in microseconds
    ARGV[2]   how long a completed job is kept, in milliseconds
    ARGV[3]   the same for a cancelled one
    ARGV[4]   the first of the script's own
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FOLDER = files("wagoe_jobs.adapters.redis") / "lua"
_NEEDS = re.compile(r"^-- needs: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """One script as the server gets it, and the name by which it is asked for again."""

    name: str
    text: str
    sha: str


@cache
def script(name: str) -> Script:
    """The script `lua/<name>.lua` with what it needs."""
    text = "\n".join(_pieces(name, set()))
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


def _pieces(name: str, seen: set[str]) -> Iterator[str]:
    text = (_FOLDER / f"{name}.lua").read_text(encoding="utf-8")
    for needed in _NEEDS.findall(text):
        for piece in map(str.strip, needed.split(",")):
            if piece not in seen:
                seen.add(piece)
                yield from _pieces(f"shared_{piece}", seen)
    yield text
