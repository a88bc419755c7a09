"""How an exception becomes a `Failure`, and any object a text that can be kept.

Nothing in here raises, whatever the object's own `__str__` and `__repr__` do: the thread that runs jobs
depends on it. Nor does it take long over what is large: a text is clipped before anything else is done with it, and
of an exception with very many members the first few are told.
"""

import traceback
from collections.abc import Iterator
from itertools import islice

from wagoe_jobs.core.outcome import MESSAGE_LIMIT, STACKTRACE_LIMIT, Failure, clipped

REPR_BYTES = 1024
MEMBERS = 100
"""Of how many exceptions, causes and members of groups, a trace is written in full."""
TOLD_MEMBERS = 15
LONG = 100_000
"""Characters of the messages of all of them, from which on they are clipped first."""


def failure_of(error: BaseException) -> Failure:
    """The failure of a run that raised: class, message and stack trace, clipped."""
    return Failure(
        text_of(error, MESSAGE_LIMIT) or type(error).__name__,
        exception_class=f"{type(error).__module__}.{type(error).__qualname__}",
        stacktrace=_trace_of(error),
    )


def text_of(value: object, limit: int = STACKTRACE_LIMIT) -> str:
    """`str(value)`, clipped, as text that every store takes; half surrogate pairs are spelt out."""
    try:
        return clipped(storable(clipped(value, limit)), limit)
    except BaseException as exc:  # noqa: BLE001 - a __str__ of the application's
        return f"<{type(value).__name__} whose __str__ raises {type(exc).__name__}>"


def repr_of(value: object) -> str:
    """`repr(value)`, at most 1 kB of it."""
    try:
        text = repr(value)
    except BaseException as exc:  # noqa: BLE001 - a __repr__ of the application's
        text = f"<{type(value).__name__} whose __repr__ raises {type(exc).__name__}>"
    return storable(text[:REPR_BYTES]).encode()[:REPR_BYTES].decode(errors="ignore")


def storable(text: str) -> str:
    """The same text with half surrogate pairs, which UTF-8 cannot carry, as escapes."""
    return text.encode(errors="backslashreplace").decode()


def _trace_of(error: BaseException) -> str:
    try:
        told = _told_shortly(error) if _is_large(error) else traceback.format_exception(error)
        return text_of("".join(told))
    except BaseException as exc:  # noqa: BLE001 - formatting asks attributes of the application's exception
        return f"<the stack trace cannot be written: {type(exc).__name__}>"


def _is_large(error: BaseException) -> bool:
    """Whether writing all of it would take long."""
    found = list(islice(_all_of(error), MEMBERS + 1))
    return len(found) > MEMBERS or sum(map(_length, found)) > LONG


def _all_of(error: BaseException) -> Iterator[BaseException]:
    """It, its causes and its members, and theirs."""
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [link for link in (one.__cause__, one.__context__) if link is not None]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions[: MEMBERS + 1]


def _length(error: BaseException) -> int:
    return sum(len(arg) for arg in error.args if isinstance(arg, str | bytes))


def _told_shortly(error: BaseException) -> Iterator[str]:
    """Where it was raised, what it says, and the same of its first members, without any causes."""
    yield "Traceback (most recent call last):\n"
    yield from traceback.format_tb(error.__traceback__)
    yield f"{type(error).__qualname__}: {text_of(error, MESSAGE_LIMIT)}\n"
    if isinstance(error, BaseExceptionGroup):
        yield f"the first of its {len(error.exceptions):,} members:\n"
        for member in error.exceptions[:TOLD_MEMBERS]:
            yield f"  {type(member).__qualname__}: {text_of(member, MESSAGE_LIMIT // TOLD_MEMBERS)}\n"
