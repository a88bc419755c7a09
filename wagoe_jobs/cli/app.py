"""The commands of `wagoe-jobs`: what each takes, asks of the library and answers.

A command answers with lines for people or, with --json, one document on stdout; everything else goes to stderr.
Exit codes are `exits.Exit`. An error that the library raises on purpose is one line, never a trace.
"""

import json
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any, Literal, NoReturn

import typer

from wagoe_jobs.cli import checks, shown
from wagoe_jobs.cli.arguments import read_duration, read_id, read_instant, read_json
from wagoe_jobs.cli.database import db_app
from wagoe_jobs.cli.exits import LEGEND, Exit, code_of
from wagoe_jobs.cli.logs import set_up
from wagoe_jobs.cli.opened import open_client, open_store
from wagoe_jobs.cli.options import AppOption, FilesOption, IdArgument, JsonOption
from wagoe_jobs.cli.output import Output, ReaderGone, complain, mend_streams, plain
from wagoe_jobs.cli.target import container_at
from wagoe_jobs.cli.work import work
from wagoe_jobs.errors import JobsError

app = typer.Typer(
    name="wagoe-jobs",
    help="Durable background jobs: run workers, look at jobs, mend what failed.",
    epilog=LEGEND,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
# typer brings a click of its own, whose errors it does not export
UNUSABLE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
jobs_app = typer.Typer(help="Look at single jobs.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(jobs_app, name="jobs")
app.add_typer(db_app, name="db")


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    mend_streams()
    try:
        code = app(list(arguments), prog_name="wagoe-jobs", standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else Exit.OK if end.code is None else Exit.NO
    except JobsError as error:
        facts = {name: value for name, value in vars(error).items() if not name.startswith("_")}
        _report(type(error).__name__, str(error), facts, as_json="--json" in arguments)
        return code_of(error)
    except UNUSABLE as error:
        _report("UsageError", error.format_message(), {}, as_json="--json" in arguments)
        return Exit.USAGE
    except typer.Abort:
        complain("interrupted")
        return Exit.INTERRUPTED
    except ReaderGone:
        return Exit.UNREAD
    except Exception:  # noqa: BLE001 - the process's last turn: tells a fault apart from every answer
        traceback.print_exc()
        return Exit.BROKEN
    return code if isinstance(code, int) else Exit.OK


def _report(kind: str, message: str, facts: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        document = {"error": {"type": kind, "message": message, **facts}}
        sys.stderr.write(json.dumps(plain(document), sort_keys=True) + "\n")
    elif "\n" in message:  # the help of a group that was given no command
        sys.stderr.write(message + "\n")
    else:
        complain(message)


def _version(wanted: bool) -> None:
    if wanted:
        Output(as_json=False).line(f"wagoe-jobs {version('wagoe-jobs')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Durable background jobs: run workers, look at jobs, mend what failed."""


@app.command()
def worker(
    target: Annotated[str, typer.Option("-a", "--app", metavar="MODULE:NAME", help="The container to run.")],
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option(help="Of the log on stderr.")
    ] = "info",
) -> None:
    """Run the worker pools of a container until TERM or INT.

    The first signal stops claiming, waits for running handlers as long as jobs.workers.shutdown_timeout_ms says
    and gives unstarted jobs back; an INT after that ends the process at once.
    """
    set_up(log_level)
    raise typer.Exit(work(container_at(target)))


@app.command()
def enqueue(
    type: Annotated[str, typer.Argument(metavar="TYPE", help="The job type.")],
    args: Annotated[
        str, typer.Argument(metavar="ARGS_JSON", help="JSON, mostly an object; - reads it from stdin.")
    ] = "{}",
    queue: Annotated[str | None, typer.Option(help="Default: the handler's, or default.")] = None,
    priority: Annotated[
        Literal["critical", "high", "normal", "low"] | None, typer.Option(help="Default: normal.")
    ] = None,
    max_retries: Annotated[int | None, typer.Option(help="Repeats after the first run; default 3.")] = None,
    delay: Annotated[str | None, typer.Option(metavar="DURATION", help="Run it later, as 90, 5m or 2h.")] = None,
    at: Annotated[str | None, typer.Option(metavar="INSTANT", help="As 2026-05-01T09:00:00+02:00.")] = None,
    id: Annotated[str | None, typer.Option(help="A UUID; one that exists is a duplicate.")] = None,
    key: Annotated[str | None, typer.Option(help="One job for each key until it expires.")] = None,
    ttl: Annotated[str | None, typer.Option(metavar="DURATION", help="How long the key is taken; default 24h.")] = None,
    target: AppOption = None,
    settings: FilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Enqueue one job and print its id. A duplicate is told so, with the first job's id, and exits 0."""
    given, wait = read_json(args), None if delay is None else read_duration(delay)
    due, known = None if at is None else read_instant(at), None if id is None else read_id(id)
    taken = None if ttl is None else read_duration(ttl)
    with open_client(target, settings) as client:
        made = client.enqueue(
            type,
            given,
            queue=queue,
            priority=priority,
            max_retries=max_retries,
            delay=wait,
            at=due,
            id=known,
            key=key,
            ttl=taken,
        )
    output = Output(as_json=as_json)
    if as_json:
        output.document({"id": str(made), "duplicate": made.duplicate})
    else:
        output.line(f"{made}{' (a duplicate: nothing was added)' if made.duplicate else ''}")


@app.command()
def status(target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False) -> None:
    """Count what waits, runs and has ended, for each queue."""
    with open_store(target, settings) as runtime:
        stats = runtime.stats.job_stats()
    output = Output(as_json=as_json)
    if as_json:
        output.document(shown.stats_document(stats))
    else:
        shown.show_stats(stats, output)


@jobs_app.command("show")
def show(id: IdArgument, target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False) -> None:
    """Show one job, wherever it is. Exits 1 when there is none with this id."""
    wanted = read_id(id)
    with open_store(target, settings) as runtime:
        job = runtime.store.find(wanted)
    if job is None:
        _no(f"there is no job {wanted}", {"job": None}, as_json)
    output = Output(as_json=as_json)
    if as_json:
        output.document({"job": shown.job_document(job)})
    else:
        shown.show_job(job, output)


@app.command()
def failed(
    queue: Annotated[str | None, typer.Option(help="Only this queue's.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the last page ended.")] = None,
    target: AppOption = None,
    settings: FilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """List dead letters, newest job first."""
    with open_store(target, settings) as runtime:
        page = runtime.store.failed_jobs(queue, limit=limit, cursor=cursor)
    output = Output(as_json=as_json)
    if as_json:
        output.document({"jobs": [shown.job_document(job) for job in page.jobs], "cursor": page.cursor})
        return
    if page.jobs:
        shown.show_jobs(list(page.jobs), output)
    else:
        output.line("there are no dead letters")
    if page.cursor:
        output.line(f"more: --cursor {page.cursor}")


@app.command()
def retry(id: IdArgument, target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False) -> None:
    """Give a dead letter another chance, its repeats whole again. Exits 1 when it is no dead letter."""
    wanted = read_id(id)
    with open_store(target, settings) as runtime:
        done = runtime.store.retry(wanted)
    if not done:
        _no(f"{wanted} is no dead letter", {"id": str(wanted), "retried": False}, as_json)
    output = Output(as_json=as_json)
    if as_json:
        output.document({"id": str(wanted), "retried": True})
    else:
        output.line(f"{wanted} is ready again")


@app.command()
def check(target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False) -> None:
    """Check settings, modules, references, store, schema, connections and installed packages.

    Nothing is changed. Exits with the code of the first thing that is wrong.
    """
    findings = checks.all_checks(target, settings)
    output = Output(as_json=as_json)
    if as_json:
        ok = not any(finding.code for finding in findings)
        output.document({"ok": ok, "checks": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            output.line(f"{finding.state:5}  {finding.check}: {finding.detail}")
    raise typer.Exit(next((finding.code for finding in findings if finding.code), Exit.OK))


def _no(message: str, document: dict[str, object], as_json: bool) -> NoReturn:
    if as_json:
        Output(as_json=True).document(document)
    else:
        complain(message)
    raise typer.Exit(Exit.NO)
