"""A module to be named in settings."""

from wagoe_jobs import handler


@handler("noted")
def note(args: object) -> object:
    return args


job_handlers = [note]
