"""`raises`, so that the cases need no test framework."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def raises(kind: type[Exception]) -> Iterator[None]:
    """The block must raise this kind of exception."""
    try:
        yield
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")
