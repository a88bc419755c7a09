"""A web node and a worker node: one application, two processes, one database. python examples/two_nodes.py"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from wagoe_jobs import handler, running
from wagoe_jobs.containers import JobsContainer


@handler("add")
def add(args: Mapping[str, int]) -> dict[str, int]:
    return {"sum": args["a"] + args["b"], "process": os.getpid()}


job_handlers = [add]


def node(database: Path, count: int) -> JobsContainer:
    """The same for both nodes but for the number of slots; 0 makes one that enqueues and runs nothing."""
    jobs = {"provider": "db", "db": {"url": f"sqlite:///{database}"}, "workers": {"count": count}}
    return JobsContainer(settings={"modules": [__name__], "jobs": jobs})


def worker(database: Path) -> None:
    with running(node(database, count=2)):
        sys.stdin.read()  # until the web node lets go; in earnest: wagoe-jobs worker -a nodes.worker:container


def web(database: Path) -> None:
    with running(node(database, count=0)) as system:
        jobs = system.client()
        made = jobs.enqueue(add, {"a": 1, "b": 2})
        command = [sys.executable, __file__, str(database)]
        with subprocess.Popen(command, stdin=subprocess.PIPE):  # at its end: no more input, then wait
            job = jobs.wait(made, timeout=30)
        assert job is not None
        assert isinstance(job.result, dict)
        print(job.result["sum"], "by the other process:", job.result["process"] != os.getpid())


if __name__ == "__main__":
    if sys.argv[1:]:
        worker(Path(sys.argv[1]))
    else:
        with TemporaryDirectory() as folder:
            web(Path(folder) / "jobs.sqlite")
