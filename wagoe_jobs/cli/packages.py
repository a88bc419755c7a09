"""Looks whether transit-python2 has damaged another package: its msgpack-python 0.5.6 installs itself over `msgpack`.

Both distributions own the import package `msgpack`, so that pip notices nothing; whoever was installed last wins.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

MEND = "pip install --force-reinstall --no-deps 'msgpack=={}'"


def overwritten_msgpack() -> str | None:
    """What is wrong and how to mend it, None when `msgpack` is what its metadata says or is not installed."""
    try:
        promised = version("msgpack")
    except PackageNotFoundError:
        return None
    found = _found()
    if found == promised:
        return None
    return (
        f"msgpack {promised} is installed, but importing it gives {found}: msgpack-python, which transit-python2 "
        f"requires, was installed over it. Mend it with: {MEND.format(promised)}"
    )


def _found() -> str:
    try:
        parts = import_module("msgpack").version
    except (ImportError, AttributeError):
        return "something else"
    return ".".join(str(part) for part in parts[:3])
