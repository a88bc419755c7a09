"""`import wagoe_jobs`: sorted names that all exist, typed for checkers, and nothing that happens."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import wagoe_jobs

REPOSITORY = Path(__file__).parents[1]
QUIET = (REPOSITORY / "tests" / "quiet_import.py").read_text()


def test_every_name_is_there_and_in_order() -> None:
    assert wagoe_jobs.__all__ == sorted(wagoe_jobs.__all__)
    for name in wagoe_jobs.__all__:
        assert getattr(wagoe_jobs, name) is not None
        assert name in dir(wagoe_jobs)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        wagoe_jobs.nonsense  # noqa: B018


def test_checkers_see_the_names_that_are_loaded_later() -> None:
    tree = ast.parse(Path(wagoe_jobs.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: each.module for each in block.body if isinstance(each, ast.ImportFrom) for alias in each.names}
    assert sorted(seen) == wagoe_jobs.__all__
    homes = {name: f"wagoe_jobs.{home}" for name, home in wagoe_jobs._HOME_OF.items()}
    assert homes == seen


def test_importing_opens_reads_and_starts_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", QUIET],
        cwd=tmp_path,
        env={"PYTHONPATH": str(REPOSITORY), "WAGOE_JOBS_NO_SUCH_SETTING": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "quiet\n", "")


def test_the_face_alone_loads_nothing_of_what_is_behind_it() -> None:
    program = "import sys, wagoe_jobs; print([name for name in sys.modules if name.startswith('wagoe_jobs.')])"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[]\n"
