"""An interrupt at a moment when Python would end in its own way: `./dev run` ends quietly with 130."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HELD = ["env", "--block-signal=INT"]


def holds_it_back(process: int) -> bool:
    (blocked,) = re.findall(r"^SigBlk:\s(\w+)$", Path(f"/proc/{process}/status").read_text(), re.M)
    return bool(int(blocked, 16) & 1 << (signal.SIGINT - 1))


@pytest.mark.parametrize("before", [[], ["-m", "tests.dev.with_server", "redis"]], ids=["alone", "with a server"])
def test_an_interrupt_before_python_is_up_ends_without_a_trace(tmp_path: Path, before: Sequence[str]):
    command = [*HELD, sys.executable, *before, "-m", "examples.shop", "--folder", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        while not holds_it_back(process.pid):
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert list(tmp_path.iterdir()) == []


IN_A_TEXT_THAT_IS_IMPORTED = """
import os, signal
import examples.shop.runner

examples.shop.runner.Show = lambda: exec("os.kill(os.getpid(), signal.SIGINT)")
"""


def test_an_interrupt_in_a_text_that_is_executed_is_one_like_any_other(tmp_path: Path):
    """Dataclasses and SQLAlchemy write such texts while they are imported."""
    (tmp_path / "sitecustomize.py").write_text(IN_A_TEXT_THAT_IS_IMPORTED)
    command = [sys.executable, "-m", "examples.shop", "--folder", str(tmp_path / "out")]
    path = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(command, cwd=ROOT, env=path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
