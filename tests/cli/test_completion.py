"""The shell is offered commands, options and words, and nothing is opened or imported for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Script


@pytest.fixture
def offered(bare: Script, monkeypatch: pytest.MonkeyPatch):
    """What bash is offered for the last word of a line."""

    def offer(*words: str) -> list[str]:
        line = ["wagoe-jobs", *words]
        monkeypatch.setenv("_WAGOE_JOBS_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(line))
        monkeypatch.setenv("COMP_CWORD", str(len(line) - 1))
        told = bare()
        assert (told.code, told.err) == (0, "")
        return told.out.split()

    return offer


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (("jo",), ["jobs"]),
        (("jobs", ""), ["list", "show", "retry", "cancel"]),
        (("failed", "re"), ["retry"]),
        (("jobs", "list", "--st"), ["--status"]),
        (("jobs", "list", "--status", "c"), ["completed", "cancelled"]),
        (("enqueue", "a", "--priority", ""), ["critical", "high", "normal", "low"]),
        (("jobs", "list", "--queue", "m"), []),
        (("jobs", "list", "-a", "no.such:module", "--queue", "m"), []),
        (("jobs", "list", "-s", "jobs.toml", "--queue", "m"), ["mail", "maps"]),
        (("failed", "list", "-s", "jobs.toml", "--queue", ""), ["default", "mail", "maps"]),
        (("failed", "list", "-s", "none.toml", "--queue", ""), []),
        (("failed", "list", "-s", "bad.toml", "--queue", ""), []),
    ],
)
def test_the_next_word_is_offered(
    offered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], offers: list[str]
):
    (tmp_path / "jobs.toml").write_text('[jobs.workers]\nqueues = ["default", "mail", "maps"]\n')
    (tmp_path / "bad.toml").write_text("[jobs")
    monkeypatch.chdir(tmp_path)
    assert offered(*words) == offers


def test_completion_is_installed_where_bash_looks(tmp_path: Path):
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    command = [sys.executable, "-m", "wagoe_jobs.cli", "--install-completion", "bash"]
    told = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stderr
    completions = [
        file for file in tmp_path.rglob("*") if file.is_file() and "_WAGOE_JOBS_COMPLETE" in file.read_text()
    ]
    assert completions != []
    check = f"source {completions[0]}; complete -p wagoe-jobs"
    assert (
        "wagoe-jobs"
        in subprocess.run(["bash", "-c", check], env=environ, capture_output=True, text=True, check=True).stdout
    )
