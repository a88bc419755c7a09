"""The page about wiring shows a program that runs, and names the container's keys."""

import re
import subprocess
import sys
from pathlib import Path

from wagoe_jobs.containers import JobsContainer

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "wiring.md").read_text()


def test_its_program_prints_what_it_says(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    (said,) = re.findall(r"^It prints `(.*)`\.$", PAGE, re.MULTILINE)
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{said}\n", "")


def test_it_names_every_key() -> None:
    internal = {"assembly", "system_settings"}
    assert [name for name in JobsContainer.providers if name not in internal and f"`{name}`" not in PAGE] == []
