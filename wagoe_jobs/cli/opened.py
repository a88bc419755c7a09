"""Opens what a command works on: the container that -a names, or the store that --settings files describe.

From files alone no module is imported, so that jobs can be looked at where the application is not installed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from wagoe_jobs.cli.target import container_at
from wagoe_jobs.client import Jobs
from wagoe_jobs.errors import JobsDisabled
from wagoe_jobs.node import running
from wagoe_jobs.ports import Runtime
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import load_settings


@dataclass(frozen=True, slots=True)
class Opened:
    """A runtime and its client, open as long as the block that they were opened for."""

    runtime: Runtime
    client: Jobs


@contextmanager
def opened(target: str | None, files: Sequence[str] | None) -> Iterator[Opened]:
    """Either of the two ways; neither and both are usage errors. Raises what opening raises."""
    one_of(target, files)
    if target:
        with running(container_at(target), only=("client",)) as system:
            client = system.client()
            yield Opened(client.runtime, client)
        return
    jobs = load_settings(*files or ()).jobs
    if jobs is None:
        raise JobsDisabled("--settings")
    with open_runtime(jobs) as runtime:
        yield Opened(runtime, Jobs(runtime))


def one_of(target: str | None, files: Sequence[str] | None) -> None:
    if target and files:
        raise typer.BadParameter("give -a or --settings, not both")
    if not target and not files:
        raise typer.BadParameter("say where the jobs are: -a package.module:container, or --settings FILE")
