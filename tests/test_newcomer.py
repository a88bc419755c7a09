"""The newcomer's program, the first that README shows, runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]

PROGRAM = re.findall(r"^```python\n(.*?)^```", (REPOSITORY / "README.md").read_text(), re.DOTALL | re.MULTILINE)[0]
"""As it stands there: this is its only text but for examples/hello.py, which is compared with it."""


def test_it_runs_as_a_script(tmp_path: Path) -> None:
    script = tmp_path / "newcomer.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "to ann@example.org\ncompleted\n", "")
