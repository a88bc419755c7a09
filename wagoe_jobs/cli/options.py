"""Options that several commands take."""

from typing import Annotated

import typer

AppOption = Annotated[
    str | None,
    typer.Option("-a", "--app", metavar="MODULE:NAME", help="The container, as containers.worker:container."),
]
FilesOption = Annotated[
    list[str] | None,
    typer.Option("-s", "--settings", metavar="FILE", help="Instead of -a: TOML files, later ones laid over earlier."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The job's id.")]
