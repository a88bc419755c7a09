"""The commands of `wagoe-jobs`: what each takes, asks of the library and answers.

A command answers with lines for people or, with --json, one document on stdout; everything else goes to stderr.
Exit codes are `exits.Exit`. An error that the library raises on purpose is one line, never a trace.
"""

import json
import traceback
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer

from wagoe_jobs.cli import checks
from wagoe_jobs.cli.arguments import one_of
from wagoe_jobs.cli.database import db_app
from wagoe_jobs.cli.enqueue import enqueue
from wagoe_jobs.cli.exits import LEGEND, Exit, code_of
from wagoe_jobs.cli.failed import failed_app
from wagoe_jobs.cli.jobs import jobs_app, retry
from wagoe_jobs.cli.logs import LEVELS, set_up
from wagoe_jobs.cli.options import AppOption, FilesOption, JsonOption
from wagoe_jobs.cli.output import Output, ReaderGone, complain, mend_streams, plain, tell
from wagoe_jobs.cli.overview import queues_app, status, types, workers
from wagoe_jobs.cli.target import container_at
from wagoe_jobs.cli.work import work
from wagoe_jobs.errors import JobsError

app = typer.Typer(
    name="wagoe-jobs",
    help="Durable background jobs: run workers, look at jobs, mend what failed.",
    epilog=LEGEND,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
# typer brings a click of its own, whose errors it does not export
UNUSABLE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    mend_streams()
    try:
        code = app(list(arguments), prog_name="wagoe-jobs", standalone_mode=False, obj=tuple(arguments))
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer's own words, as help, met a reader that went away
            return Exit.UNREAD
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
    except ReaderGone as gone:
        for why in gone.args:
            complain(why)
        return Exit.UNREAD
    except Exception:  # noqa: BLE001 - the process's last turn: tells a fault apart from every answer
        traceback.print_exc()
        return Exit.BROKEN
    return code if isinstance(code, int) else Exit.OK


def _report(kind: str, message: str, facts: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        document = {"error": {"type": kind, "message": message, **facts}}
        tell(json.dumps(plain(document), sort_keys=True) + "\n")
    elif "\n" in message:  # the help of a group that was given no command
        tell(message + "\n")
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
        str, typer.Option(metavar="LEVEL", parser=one_of(LEVELS), help=f"Of the log on stderr: {', '.join(LEVELS)}.")
    ] = "info",
) -> None:
    """Run the worker pools of a container until TERM or INT.

    The first signal stops claiming, waits for running handlers as long as jobs.workers.shutdown_timeout_ms says
    and hands unstarted jobs back; an INT after that ends the process at once.
    """
    set_up(log_level)
    raise typer.Exit(work(container_at(target)))


app.command("enqueue")(enqueue)


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


app.add_typer(jobs_app, name="jobs")
app.add_typer(queues_app, name="queues")
app.add_typer(failed_app, name="failed")
app.add_typer(db_app, name="db")
app.command("retry")(retry)
app.command("status")(status)
app.command("workers")(workers)
app.command("types")(types)
