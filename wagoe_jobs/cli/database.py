"""`wagoe-jobs db`: the tables of the db provider, made, printed and compared."""

from collections.abc import Sequence
from typing import Annotated

import typer

from wagoe_jobs.adapters.sql import schema_ddl, upgrade_schema, verify_schema
from wagoe_jobs.cli.checks import file_to_come
from wagoe_jobs.cli.exits import Exit
from wagoe_jobs.cli.opened import open_database
from wagoe_jobs.cli.options import AppOption, FilesOption, JsonOption
from wagoe_jobs.cli.output import Output

db_app = typer.Typer(help="The tables of the db provider.", no_args_is_help=True, rich_markup_mode=None)
SqlOption = Annotated[bool, typer.Option("--sql", help="Print the SQL and change nothing.")]


@db_app.command()
def upgrade(
    sql: SqlOption = False, target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False
) -> None:
    """Create the tables, or bring them to this version. Nothing happens when they are as they should be."""
    if sql:
        print_sql(target, settings, as_json)
        return
    with open_database(target, settings) as (jobs, engine):
        upgrade_schema(engine, schema=jobs.db.schema_name, table_prefix=jobs.db.table_prefix)
    output = Output(as_json=as_json)
    if as_json:
        output.document({"ok": True})
    else:
        output.line("the tables are as this version needs them")


@db_app.command("sql")
def print_sql(target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False) -> None:
    """Print the SQL that creates every table, for people who run it themselves."""
    with open_database(target, settings, without_file=True) as (jobs, engine):
        text = schema_ddl(engine, schema=jobs.db.schema_name, table_prefix=jobs.db.table_prefix)
    output = Output(as_json=as_json)
    if as_json:
        output.document({"sql": text})
    else:
        output.raw(text)


@db_app.command()
def verify(target: AppOption = None, settings: FilesOption = None, as_json: JsonOption = False) -> None:
    """Compare the tables with what this version needs. Exits 4 when they differ."""
    with open_database(target, settings) as (jobs, engine):
        if file_to_come(engine):
            faults: Sequence[str] = [f"{engine.url.database} is not there yet"]
        else:
            faults = verify_schema(engine, schema=jobs.db.schema_name, table_prefix=jobs.db.table_prefix)
    output = Output(as_json=as_json)
    if as_json:
        output.document({"ok": not faults, "faults": faults})
    for fault in () if as_json else faults:
        output.line(fault)
    if faults:
        raise typer.Exit(Exit.SCHEMA)
    if not as_json:
        output.line("the tables are as this version needs them")
