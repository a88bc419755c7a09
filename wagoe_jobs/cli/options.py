"""Options that several commands take."""

from datetime import datetime
from typing import Annotated

import typer

from wagoe_jobs.cli.arguments import one_of, read_moment
from wagoe_jobs.cli.completion import complete_priority, complete_queue, complete_status
from wagoe_jobs.core.job import PRIORITIES, Status

AppOption = Annotated[
    str | None,
    typer.Option("-a", "--app", metavar="MODULE:NAME", help="The container, as containers.worker:container."),
]
FilesOption = Annotated[
    list[str] | None,
    typer.Option("-s", "--settings", metavar="FILE", help="Instead of -a: TOML files, later ones laid over earlier."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
IdsArgument = Annotated[list[str], typer.Argument(metavar="ID", help="The ids of jobs.")]

StatusOption = Annotated[
    str | None,
    typer.Option(
        metavar="STATUS", parser=one_of(Status), autocompletion=complete_status, help=f"One of {', '.join(Status)}."
    ),
]
PriorityOption = Annotated[
    str | None,
    typer.Option(
        metavar="PRIORITY",
        parser=one_of(PRIORITIES),
        autocompletion=complete_priority,
        help=f"One of {', '.join(PRIORITIES)}; default normal.",
    ),
]
TypeOption = Annotated[str | None, typer.Option(metavar="TYPE", help="Only jobs of this type.")]
QueueOption = Annotated[
    str | None, typer.Option(metavar="QUEUE", autocompletion=complete_queue, help="Only this queue's.")
]
TenantOption = Annotated[str | None, typer.Option(metavar="TENANT", help="Only this tenant's.")]
SinceOption = Annotated[
    datetime | None,
    typer.Option(
        metavar="WHEN", parser=read_moment, help="Only those made since: 2h ago, 3d, or 2026-05-01T09:00:00+02:00."
    ),
]
UntilOption = Annotated[
    datetime | None, typer.Option(metavar="WHEN", parser=read_moment, help="Only those made before.")
]
LimitOption = Annotated[int, typer.Option(min=1, max=1000, help="How many a page holds.")]
CursorOption = Annotated[str | None, typer.Option(metavar="CURSOR", help="Where the last page ended.")]
