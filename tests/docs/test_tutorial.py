"""The tutorial is run block by block, as by its reader: files are written, commands typed, the worker is stopped."""

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import wheels
from tests.docs.test_readme_install import CLONE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
pytestmark = pytest.mark.timeout(300)  # the first time, what it requires is fetched


class Block(NamedTuple):
    kind: str
    text: str


def blocks() -> Iterator[Block]:
    for kind, text in re.findall(r"^```(\w+(?: \w+)?)\n(.*?)^```$", PAGE, re.M | re.S):
        yield Block(kind, text)


class Reader:
    """Somebody with one terminal and a half. What a command says is kept, to be compared with the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = ""
        self.background: list[subprocess.Popen[str]] = []
        self._state = folder / "terminal.sh"
        wheels.fill()
        self._state.write_text("".join(f"export {name}='{value}'\n" for name, value in wheels.OFFLINE.items()))

    def follow(self, block: Block) -> None:
        match block.kind:
            case "console":
                self.said = self.type(block.text)
            case "console background":
                command = ["bash", "-c", f". {self._state}; exec {block.text}"]
                self.background.append(
                    subprocess.Popen(
                        command, cwd=self.folder, stderr=subprocess.PIPE, text=True, start_new_session=True
                    )
                )
            case "python" | "toml":
                name = re.match(r"# ([\w.]+)\n", block.text)
                assert name is not None, f"names no file: {block.text}"
                (self.folder / "tea" / name[1]).write_text(block.text)
            case "text":
                self.expect(block.text)
            case other:
                raise AssertionError(f"nobody would know what to do with a block of {other}")

    def type(self, commands: str) -> str:
        """What it says, tried again for a while where a reader would be told to wait a moment."""
        script = f". {self._state}; set -e\n{commands}\n(export -p; echo cd $(pwd)) >{self._state}"
        deadline = time.monotonic() + 20
        while True:
            done = subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, timeout=240)
            if done.returncode == 0:
                return done.stdout
            later = commands.startswith("cat ") and time.monotonic() < deadline
            assert later, commands + done.stdout + done.stderr
            time.sleep(0.2)

    def expect(self, text: str) -> None:
        """That the lines of the page, in which … stands for anything, are among what was said."""
        for line in text.splitlines():
            pattern = ".*".join(re.escape(part) for part in line.split("…"))
            assert re.search(f"^{pattern}$", self.said, re.M), f"{line!r} is not in\n{self.said}"

    def stop(self) -> list[int]:
        for process in self.background:
            process.send_signal(signal.SIGINT)
        return [self._ended(process) for process in self.background]

    def _ended(self, process: "subprocess.Popen[str]") -> int:
        process.communicate(timeout=30)
        return process.returncode


def test_every_block_does_what_the_page_says(tmp_path: Path):
    for name in CLONE:
        source, target = ROOT / name, tmp_path / "wagoe_jobs" / name
        target.parent.mkdir(exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    reader = Reader(tmp_path)
    try:
        for block in blocks():
            reader.follow(block)
    finally:
        codes = reader.stop()
    assert codes == [0]


def test_it_goes_from_install_to_a_dead_letter_that_is_redriven():
    typed = "".join(block.text for block in blocks() if block.kind == "console")
    steps = ["pip install", "wagoe-jobs check", "python shop.py", "failed list", "failed retry", "cat outbox"]
    places = [typed.index(step) for step in steps]
    assert places == sorted(places)


def test_it_is_read_in_ten_minutes():
    assert len(PAGE.split()) < 1200
