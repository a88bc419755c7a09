"""Exit codes: a promise to scripts, the same for every command. docs/cli.md lists them."""

from enum import IntEnum

from wagoe_jobs.errors import BackendUnavailable, JobsError, SchemaMismatch


class Exit(IntEnum):
    OK = 0
    NO = 1
    """The command worked and its answer is no: nothing with that id, nothing to retry, a check that failed."""
    USAGE = 2
    """What was given cannot be used: options, arguments, settings, modules, a job."""
    UNAVAILABLE = 3
    """The store did not answer; try again later."""
    SCHEMA = 4
    """The database's schema is not this version's: `wagoe-jobs db upgrade`."""
    BROKEN = 70
    """What nobody foresaw, here or in the application; the trace says more."""
    INTERRUPTED = 130
    UNREAD = 141
    """Whoever read the answer went away before its end, as `| head` does: what a shell calls SIGPIPE."""


LEGEND = (
    "Exit codes: 0 ok; 1 the answer is no, or nothing was found; 2 options, settings or a job that cannot be used; "
    "3 the store is unavailable; 4 the schema needs an upgrade; 70 a fault, with its trace; 130 interrupted."
)


def code_of(error: JobsError) -> Exit:
    """What the script exits with when this error ends it."""
    match error:
        case BackendUnavailable():
            return Exit.UNAVAILABLE
        case SchemaMismatch():
            return Exit.SCHEMA
        case _:
            return Exit.USAGE
