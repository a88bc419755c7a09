"""How an exception becomes a `Failure`, and any object a text that can be kept.

Nothing in here raises, whatever the object's own `__str__` and `__repr__` do: the thread that runs jobs
depends on it.
"""

import traceback

from wagoe_jobs.core.outcome import MESSAGE_LIMIT, STACKTRACE_LIMIT, Failure, clipped

REPR_BYTES = 1024


def failure_of(error: BaseException) -> Failure:
    """The failure of a run that raised: class, message and stack trace, clipped."""
    return Failure(
        clipped(text_of(error) or type(error).__name__, MESSAGE_LIMIT),
        exception_class=f"{type(error).__module__}.{type(error).__qualname__}",
        stacktrace=clipped(_trace_of(error), STACKTRACE_LIMIT),
    )


def text_of(value: object) -> str:
    """`str(value)` as text that every store takes; half surrogate pairs are spelt out."""
    try:
        return storable(str(value))
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
        return storable("".join(traceback.format_exception(error)))
    except BaseException as exc:  # noqa: BLE001 - formatting asks attributes of the application's exception
        return f"<the stack trace cannot be written: {type(exc).__name__}>"
