"""Runs the codec's tests with another distribution of the import package `transit`, in place of the installed one.

    python -m tests.codec.other_package [REQUIREMENT]     transit-python unless another is named

It is installed into a throw-away folder that stands first on the path; nothing that is installed changes.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ORIGIN = "import transit.transit_types as t; print(t.__file__)"


def main(requirement: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        _python("-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, requirement)
        found = _python("-c", ORIGIN, first=folder)
        if not found.startswith(folder):
            print(f"the tests would use {found.strip()}", file=sys.stderr)
            return 1
        tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/codec", *sys.argv[2:]]
        return subprocess.run(tests, cwd=ROOT, env=_environment(folder)).returncode


def _python(*arguments: str, first: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=_environment(first), check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def _environment(first: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": first}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "transit-python"))
