"""The pages about handlers and production: their programs run, their tests pass, their commands exist."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_pages import ROOT, blocks, cli
from wagoe_jobs.cli.app import run

HANDLERS = (ROOT / "docs" / "handlers.md").read_text()
PRODUCTION = (ROOT / "docs" / "production.md").read_text()
UNKNOWN = "0197c1de-6b10-7f3a-8c55-0f2a61b7d9e4"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with the files of the page, each named by its first line."""
    for block in blocks("python", HANDLERS):
        (tmp_path / block.splitlines()[0].removeprefix("# ")).write_text(block)
    return tmp_path


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": f"{ROOT}:{folder}", "PYTHONWARNINGS": "error"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_shop_prints_what_the_page_says(shop: Path):
    (said,) = re.findall(r"^It prints (.*)\.$", HANDLERS, re.M)
    done = python(shop, "shop.py")
    assert (done.returncode, done.stdout.splitlines()) == (0, re.findall("`(.*?)`", said)), done.stderr


def test_the_tests_of_the_page_pass(shop: Path):
    done = python(shop, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_invoices.py")
    assert "2 passed" in done.stdout, done.stdout


def test_the_commands_of_the_page_about_production_exist(tmp_path: Path):
    lines = [line for block in blocks("console", PRODUCTION) for line in block.splitlines()]
    for line in lines:
        arguments = shlex.split(line.replace(" ID ", f" {UNKNOWN} "), comments=True)[1:]
        assert cli(*arguments, folder=tmp_path).returncode == (1 if UNKNOWN in arguments else 0), line
    told = set(re.findall(r"`wagoe-jobs ([a-z]+(?: [a-z]+)?)", PRODUCTION)) | {"worker"}
    for command in told:
        assert run([*command.split(), "--help"]) == 0, command


def test_the_unit_waits_longer_for_a_stop_than_the_node_does():
    (unit,) = blocks("ini", PRODUCTION)
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.M)
    assert int(seconds) > 30
