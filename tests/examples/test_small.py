"""The small examples: each runs as a script, prints what it should, and can be taken in at one look."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_newcomer import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[!_]*.py"))
PRINTED = {
    "async_handlers": "completed fetched a\ncompleted fetched b\ncompleted fetched c\nfailed timeout\n",
    "hello": "to ann@example.org\ncompleted\n",
    "memory_only": "completed 1\ncompleted 3\nfailed not yet, at attempt 3\ncancelled: True\n4 ended, 2 of them well\n",
    "outbox": "the second order was rolled back, and its job with it\nreceipt for order 1\norders: 1\n",
    "own_module": "shop@example.org -> ann@example.org: hello\n",
    "parts": "TEA\nPOT\nMUG\n['shout', 'whisper']\n",
    "two_nodes": "3 by the other process: True\n",
    "typed_args": "9.90 to NL01\nargs['amount']: Input should be greater than 0\n",
}


def test_every_one_is_expected_to_print_something():
    assert [path.stem for path in EXAMPLES] == sorted(PRINTED)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_prints_what_it_should_and_leaves_nothing_unclosed(path: Path, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", path],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, PRINTED[path.stem]), done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("job ")] == []  # failures are told there


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_is_under_60_lines_and_says_how_to_run_it(path: Path):
    lines = path.read_text().splitlines()
    assert len(lines) < 60
    assert f"python examples/{path.name}" in lines[0]


def test_hello_is_the_program_of_the_readme():
    assert (ROOT / "examples" / "hello.py").read_text().partition("\n\n")[2] == PROGRAM
