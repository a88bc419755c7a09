"""Making the tables, and checking that what is there is what this version needs.

Several nodes may boot at once: one creates, the others wait for it and find the tables made. A schema of
another version is never touched here.
"""

from collections.abc import Sequence
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Insert, Table, inspect, literal, select
from sqlalchemy.schema import CreateIndex, CreateSchema, CreateSequence, CreateTable, ExecutableDDLElement

from wagoe_jobs.adapters.sql.connections import Database, opening
from wagoe_jobs.adapters.sql.tables import SCHEMA_VERSION
from wagoe_jobs.errors import SchemaMismatch

_UPGRADE = "run `wagoe-jobs db upgrade`"


def create(db: Database, wanted: Sequence[Table]) -> None:
    """Create what is absent of `wanted`, in one step. Raises SchemaMismatch for a schema of another version."""

    def make(conn: Connection) -> None:
        with db.dialect.schema_lock(conn, db.tables):
            schema = db.tables.metadata.schema
            if schema is not None and not inspect(conn).has_schema(schema):
                conn.execute(CreateSchema(schema))
            _check_version(db, _version(db, conn))
            db.tables.metadata.create_all(conn, tables=list(dict.fromkeys(wanted)), checkfirst=True)
            conn.execute(_first_row(db, literal(uuid4().hex), db.dialect.now()), db.clock())
            conn.commit()  # before the next creator comes in

    with opening(db.dialect):
        db.dialect.settle_down(db)
        db.write(make)


def mend(db: Database) -> None:
    """Create every table and index that is missing. Raises SchemaMismatch for a schema of another version."""
    create(db, db.tables.all)

    def index(conn: Connection) -> None:
        with db.dialect.schema_lock(conn, db.tables):
            for one in (one for table in db.tables.all for one in table.indexes):
                one.create(conn, checkfirst=True)

    with opening(db.dialect):
        db.write(index)


def verify(db: Database) -> Sequence[str]:
    """What is wrong with the schema, one sentence each; nothing when it is as this version needs it."""

    def look(conn: Connection) -> list[str]:
        found = _version(db, conn)
        if found is None:
            return [f"there are no jobs tables: {_UPGRADE}"]
        if found != SCHEMA_VERSION:
            return [_other_version(found)]
        return [fault for table in db.tables.all for fault in _faults(conn, table)]

    with opening(db.dialect):
        return db.read(look)


def check(db: Database) -> None:
    """Raises SchemaMismatch with what `verify` found."""
    faults = verify(db)
    if faults:
        raise SchemaMismatch("; ".join(faults))


def ddl(db: Database) -> str:
    """The statements that create everything, as text for people who run them themselves."""
    elements: list[ExecutableDDLElement] = (
        [] if db.tables.metadata.schema is None else [CreateSchema(db.tables.metadata.schema, if_not_exists=True)]
    )
    if db.tables.line is not None:
        elements.append(CreateSequence(db.tables.line))
    for table in db.tables.metadata.sorted_tables:
        elements.append(CreateTable(table))
        elements.extend(CreateIndex(index) for index in sorted(table.indexes, key=lambda index: str(index.name)))
    dialect = db.engine.dialect
    now = db.read(lambda conn: conn.execute(select(db.dialect.now()), db.clock()).scalar_one())
    first = _first_row(db, literal(uuid4().hex), literal(now))
    texts = [str(element.compile(dialect=dialect)).strip() for element in elements]
    texts.append(str(first.compile(dialect=dialect, compile_kwargs={"literal_binds": True})))
    return ";\n\n".join(texts) + ";\n"


def _first_row(db: Database, store_id: ColumnElement[str], created: ColumnElement[int]) -> Insert:
    values = {"id": literal(1), "version": literal(SCHEMA_VERSION), "store_id": store_id, "created_at": created}
    return db.dialect.insert_new(db.tables.version, values)


def _version(db: Database, conn: Connection) -> int | None:
    version = db.tables.version
    if not inspect(conn).has_table(version.name, schema=version.schema):
        return None
    return conn.execute(select(version.c.version)).scalar()


def _check_version(db: Database, found: int | None) -> None:
    if found is not None and found != SCHEMA_VERSION:
        raise SchemaMismatch(_other_version(found))


def _other_version(found: int) -> str:
    if found < SCHEMA_VERSION:
        return f"the jobs tables are of version {found}, this library needs {SCHEMA_VERSION}: {_UPGRADE}"
    return (
        f"the jobs tables are of version {found}, this library only knows {SCHEMA_VERSION}: "
        "use the newer wagoe-jobs, whose `wagoe-jobs db upgrade` made them"
    )


def _faults(conn: Connection, table: Table) -> Sequence[str]:
    inspector = inspect(conn)
    if not inspector.has_table(table.name, schema=table.schema):
        return [f"table {table.fullname} is missing: {_UPGRADE}"]
    there = {column["name"] for column in inspector.get_columns(table.name, schema=table.schema)}
    made = {index["name"] for index in inspector.get_indexes(table.name, schema=table.schema)}
    columns = [
        f"column {table.fullname}.{c.name} is missing: this library did not make the table"
        for c in table.c
        if c.name not in there
    ]
    missing = sorted(str(index.name) for index in table.indexes if index.name not in made)
    return columns + [f"index {name} of {table.fullname} is missing: {_UPGRADE}" for name in missing]
