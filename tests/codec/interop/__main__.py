"""Checks the wire against transit-js, both ways, and records what it writes anew. `./dev interop` runs it.

    python -m tests.codec.interop            compare with the recorded vectors; exit 1 where they differ
    python -m tests.codec.interop --record   write them

Needs node and npm; the npm package is installed beside this file, at the version that package.json names.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.codec.meaning import described, digest
from tests.codec.test_jobs import LIVES
from tests.codec.values import EVERY_TYPE
from wagoe_jobs.core import codec

HERE = Path(__file__).parent
VECTORS = HERE.parent / "vectors" / "transit_js.json"


def main(arguments: list[str]) -> int:
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=HERE, check=True)
    written = _node("write")
    if arguments == ["--record"]:
        VECTORS.write_text(written)
    wrong = [] if VECTORS.read_text() == written else ["transit-js no longer writes what was recorded"]
    vectors = json.loads(written)
    wrong += [f"read wrongly from transit-js: {vector['name']}" for vector in vectors if not _read_as_meant(vector)]
    texts = {name: codec.encode_value(value) for name, value in EVERY_TYPE.items()}
    texts |= {f"a job, {life}": codec.encode_job(job) for life, job in LIVES.items()}
    wrong += [f"read wrongly by transit-js: {name}" for name in _misread(texts)]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(vectors)} values from transit-js, {len(texts)} to it: {len(wrong)} wrong")
    return 1 if wrong else 0


def _read_as_meant(vector: dict[str, Any]) -> bool:
    for spelling in {"json", "verbose"} & vector.keys():
        means = described(codec.decode_value(vector[spelling]))
        if not (means == vector["means"] if "means" in vector else digest(means) == vector["digest"]):
            return False
    return True


def _misread(texts: dict[str, str]) -> list[str]:
    """The names of the texts that transit-js reads as something else than we do."""
    answers = json.loads(_node("read", json.dumps(list(texts.values()))))
    pairs = zip(texts.items(), answers, strict=True)
    return [name for (name, text), answer in pairs if answer != described(codec.decode_value(text))]


def _node(command: str, text: str = "") -> str:
    done = subprocess.run(
        ["node", "peer.js", command], cwd=HERE, input=text, capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
