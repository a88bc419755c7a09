"""A runtime on every store, for what callers see of it."""

from collections.abc import Iterator

import pytest

from tests.pool.conftest import shared_mariadb_url, shared_postgres_url
from tests.pool.house import wipe
from wagoe_jobs import Runtime, open_runtime

__all__ = ["shared_mariadb_url", "shared_postgres_url"]


@pytest.fixture(params=["memory", "sqlite", "shared_postgres", "shared_mariadb", "redis"])
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """An empty store, opened as an application opens it."""
    kind = str(request.param)
    url = "" if kind == "memory" else request.getfixturevalue(f"{kind}_url")
    if kind.startswith("shared"):
        wipe(url)
    provider = kind if kind in ("memory", "redis") else "db"
    with open_runtime({"provider": provider, **({provider: {"url": url}} if url else {})}) as opened:
        yield opened
