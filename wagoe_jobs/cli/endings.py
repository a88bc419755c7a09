"""How a command ends that acted on many jobs: what became of each, how far it came, and the code for the worst."""

from collections.abc import Callable, Sequence
from uuid import UUID

import typer

from wagoe_jobs.cli import documents
from wagoe_jobs.cli.arguments import read_ids
from wagoe_jobs.cli.exits import Exit
from wagoe_jobs.cli.many import Told
from wagoe_jobs.cli.opened import Files, open_store
from wagoe_jobs.cli.output import Output, complain
from wagoe_jobs.cli.progress import Ended
from wagoe_jobs.ports import Runtime

Act = Callable[[Runtime, Sequence[UUID]], tuple[Sequence[Told], Ended]]


def act_on(ids: Sequence[str], act: Act, target: str | None, settings: Files, as_json: bool) -> None:
    """Do it to each job that is named, tell what became of it, and exit as the worst of it asks for."""
    wanted = read_ids(ids)
    with open_store(target, settings, to_change=True) as runtime:
        told, ended = act(runtime, wanted)
    _answer_each(told, ended, len(wanted), as_json)


def finish(ended: Ended, so_far: str) -> None:
    """Nothing when it came to its end; else how far it came, and the error or the exit of an interruption."""
    if ended.stopped or ended.error:
        complain(f"stopped before the end: {so_far}; the same command goes on from there")
    if ended.error:
        raise ended.error
    if ended.stopped:
        raise typer.Exit(Exit.INTERRUPTED)


def _answer_each(told: Sequence[Told], ended: Ended, wanted: int, as_json: bool) -> None:
    output = Output(as_json=as_json)
    if as_json:
        output.document(documents.told_document(told, complete=len(told) == wanted))
    else:
        for one in told:
            output.line(f"{one.id}  {one.state}")
    finish(ended, f"{len(told):,} of {wanted:,} were seen to")
    if not all(one.done for one in told):
        raise typer.Exit(Exit.NO)
