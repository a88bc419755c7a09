"""Index hints. Statements that lock carry one: which rows they wait for must not depend on statistics."""

from sqlalchemy import Delete, Select, Table, TextClause

from wagoe_jobs.adapters.sql.dialect import Locking


def hinted(statement: Locking, table: Table, index: str) -> Locking:
    """The statement, bound to this index of the table; PRIMARY binds only one that names a whole key."""
    hint = f"FORCE INDEX (`{index}`)"
    if isinstance(statement, Select):
        return statement.with_hint(table, hint)
    if isinstance(statement, Delete):  # takes a hint only in the form for several tables, which names one before FROM
        name = f"`{table.schema}`.`{table.name}`" if table.schema else f"`{table.name}`"
        statement = statement.prefix_with(TextClause(name.replace(":", r"\:")))
    return statement.with_hint(hint)
