"""What an installation of the package takes, fetched once for all tests that install it.

It lies in `out/wheels` until something else is required. pip finds it there through `OFFLINE`, still resolves what
is declared, and fetches nothing: what is declared nowhere would be missing.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / ".ci" / "requirements.lock"
SHELF = ROOT / "out" / "wheels"
FILLED = SHELF / "filled"
ALSO = ["msgpack>=1"]
"""What README's lines about installing name besides the package."""
OFFLINE: Mapping[str, str] = {
    "PIP_CONSTRAINT": str(LOCK),
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": str(SHELF),
    "PIP_COMPILE": "0",  # Python compiles what it imports, which is far less, and here it may keep that
    "PYTHONDONTWRITEBYTECODE": "",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


def fill() -> None:
    """Afterwards everything is there, whoever has fetched it: one process does, and the others wait for it."""
    SHELF.parent.mkdir(exist_ok=True)
    with (SHELF.parent / ".wheels-lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not FILLED.exists() or FILLED.read_text() != _stamp():
            _fetch()
            FILLED.write_text(_stamp())


def _fetch() -> None:
    shutil.rmtree(SHELF, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--constraint", str(LOCK), "--wheel-dir", str(SHELF)]
    done = subprocess.run([*pip, *_required()], capture_output=True, text=True, cwd="/", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _required() -> list[str]:
    """What pyproject.toml declares: for the build, for the package, for its extras that are tried."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = told["project"]["optional-dependencies"]
    return [
        *told["build-system"]["requires"],
        *told["project"]["dependencies"],
        *extras["cli"],
        *extras["postgres"],
        *ALSO,
    ]


def _stamp() -> str:
    return hashlib.sha256("\n".join([sys.version, *_required(), LOCK.read_text()]).encode()).hexdigest()


def environment() -> dict[str, str]:
    """This process's, with a pip that finds what is on the shelf."""
    fill()
    return {**os.environ, **OFFLINE}
