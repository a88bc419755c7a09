"""The page about async code: its programs print what it says."""

import re
import subprocess
import sys
from pathlib import Path

from tests.docs.test_pages import ROOT, blocks

PAGE = (ROOT / "docs" / "async.md").read_text()


def test_the_programs_print_what_the_page_says(tmp_path: Path) -> None:
    programs = blocks("python", PAGE)
    said = re.findall(r"^It prints (.*?)\.(?: |$)", PAGE, re.M)
    assert len(programs) == len(said) == 2
    for program, line in zip(programs, said, strict=True):
        file = tmp_path / program.splitlines()[0].removeprefix("# ")
        file.write_text(program)
        done = subprocess.run(
            [sys.executable, "-W", "error", file.name],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == re.findall("`(.*?)`", line)
