"""Index hints. Statements that lock carry one: which rows they wait for must not depend on statistics."""

from sqlalchemy import Delete, Select, Table, TextClause, bindparam, text

from wagoe_jobs.adapters.sql.dialect import Locking

_LISTED = "id char(36) character set ascii collate ascii_bin path '$'"


def hinted(statement: Locking, table: Table, index: str) -> Locking:
    """The statement, bound to this index of the table; PRIMARY binds only one that names a whole key.

    A DELETE by a list is not bound: of most of a small table, MariaDB reads all whatever the hint. So `joined_removal`.
    """
    hint = f"FORCE INDEX (`{index}`)"
    if isinstance(statement, Select):
        return statement.with_hint(table, hint)
    if isinstance(statement, Delete):  # takes a hint only in the form for several tables, which names one before FROM
        statement = statement.prefix_with(TextClause(_named(table)))
    return statement.with_hint(hint)


def joined_removal(table: Table, index: str) -> TextClause:
    """The delete of the rows among the parameter `ids`: a join that the list leads, so that no other row is read."""
    name = _named(table)
    listed = f"json_table(json_array :ids, '$[*]' columns ({_LISTED})) AS listed"
    found = f"{name} FORCE INDEX (`{index}`) ON {name}.id = listed.id"
    return text(f"DELETE {name} FROM {listed} STRAIGHT_JOIN {found}").bindparams(bindparam("ids", expanding=True))


def _named(table: Table) -> str:
    name = f"`{table.schema}`.`{table.name}`" if table.schema else f"`{table.name}`"
    return name.replace(":", r"\:")
