"""Logging of a worker process: one line an event on stderr, unless the application has set logging up."""

import logging

from wagoe_jobs.cli.output import clean_lines

LEVELS = ("debug", "info", "warning", "error")
FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class CleanFormatter(logging.Formatter):
    """Leaves nothing in a line, or in a trace below it, that a terminal would obey: job text may be hostile."""

    def format(self, record: logging.LogRecord) -> str:
        return clean_lines(super().format(record))


class JobFormatter(CleanFormatter):
    """Ends a line with the type and id of its job where the record has them, as those of `context.logger` do."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        job = " ".join(str(record.__dict__[name]) for name in ("job_type", "job_id") if name in record.__dict__)
        return super().formatMessage(record) + (f" [{job}]" if job else "")


def set_up(level: str) -> None:
    """Log to stderr from `level` on; a root logger that has handlers is the application's and stays as it is."""
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(JobFormatter(FORMAT))
    root.addHandler(handler)
    root.setLevel(level.upper())
