"""Which tenant the code at hand works for: a context variable that the application binds.

A job is enqueued for the bound tenant unless one is named, and never for another than the bound one. The
variable goes along into threads started by `asyncio.to_thread` and into tasks, as context variables do.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from wagoe_jobs.core.job import TENANT_ID, checked_name
from wagoe_jobs.errors import InvalidJob, TenantMismatch

_bound: ContextVar[str | None] = ContextVar("wagoe_jobs_tenant", default=None)


def bound_tenant() -> str | None:
    """The tenant that is bound here, None for none."""
    return _bound.get()


@contextmanager
def tenant_bound(tenant: str | None) -> Iterator[None]:
    """Bind a tenant, or none, for the time of a `with` block. Raises InvalidJob for what is no name."""
    token = _bound.set(None if tenant is None else checked_name("tenant", tenant))
    try:
        yield
    finally:
        _bound.reset(token)


def with_tenant(metadata: Mapping[str, object] | None, named: str | None) -> Mapping[str, object]:
    """A job's metadata with the tenant that it is for: the one named, in either place, or the bound one.

    Raises TenantMismatch when another is bound, InvalidJob when two are named or one is no name.
    """
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidJob("metadata", f"must be a mapping, not {type(metadata).__name__}")
    given = dict(metadata or {})
    inside = given.get(TENANT_ID)
    if inside is not None:
        inside = checked_name(f'metadata["{TENANT_ID}"]', inside)
    if named is not None and inside not in (None, checked_name("tenant", named)):
        raise InvalidJob("tenant", f"is {named!r}, but the metadata say {inside!r}")
    wanted, bound = named or inside, bound_tenant()
    if wanted is not None and bound is not None and wanted != bound:
        raise TenantMismatch(wanted, bound)
    tenant = wanted or bound
    given.pop(TENANT_ID, None)
    return given if tenant is None else {**given, TENANT_ID: tenant}
