"""How async code calls a store that blocks: in a thread, or on the connection that its own transaction holds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from wagoe_jobs.errors import NotATransaction

P = ParamSpec("P")
T = TypeVar("T")


async def offload(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """A call to the store blocks: in a thread, under the caller's context variables."""
    return await asyncio.to_thread(call, *args, **kwargs)


async def stored(store: Callable[[object], T], tx: object) -> T:
    """Store on the connection of an asynchronous transaction, else in a thread."""
    tx = _of_this_task(tx)
    run_sync: Callable[[Callable[[object], T]], Awaitable[T]] | None = getattr(tx, "run_sync", None)
    if run_sync is None:
        return await offload(store, tx)
    if getattr(tx, "sync_connection", tx) is None:
        raise NotATransaction(f"the {type(tx).__name__} is not open: use `async with engine.begin() as connection`")
    return await run_sync(store)


def _of_this_task(tx: object) -> object:
    """The AsyncSession that an async_scoped_session stands for; told by its name, since its module needs greenlet."""
    return tx() if type(tx).__name__ == "async_scoped_session" and callable(tx) else tx
