"""The houses and ledgers of the pool's tests, for single workers."""

from tests.pool.conftest import (
    _no_thread_is_left,
    house,
    ledger,
    open_house,
    room,
    said,
    shared_url,
    wiped_postgres_url,
)

__all__ = ["_no_thread_is_left", "house", "ledger", "open_house", "room", "said", "shared_url", "wiped_postgres_url"]
