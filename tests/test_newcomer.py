"""The newcomer's program runs as it stands, and it is the one that README shows first."""

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]

PROGRAM = """\
from wagoe_jobs import handler
from wagoe_jobs.containers import JobsContainer
from wagoe_jobs.node import running

@handler("send-email")
def send_email(args):
    print("to", args["to"])

job_handlers = [send_email]            # what this module contributes

container = JobsContainer(settings={"modules": [__name__], "jobs": {"provider": "memory"}})
with running(container) as system:
    jobs = system.client()
    job = jobs.enqueue(send_email, {"to": "ann@example.org"})
    print(jobs.wait(job, timeout=5).status)
"""


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


def test_the_readme_shows_it_first() -> None:
    programs = re.findall(r"^```python\n(.*?)^```", (REPOSITORY / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert programs[:1] == [PROGRAM]
