"""A msgpack that transit-python2's requirement overwrote is told, with the command that mends it."""

import sys
from importlib.metadata import PackageNotFoundError
from types import ModuleType

import pytest

from wagoe_jobs.cli import packages


def installed(monkeypatch: pytest.MonkeyPatch, *, promised: str | None, found: tuple[int, ...]) -> None:
    def version(name: str) -> str:
        if promised is None:
            raise PackageNotFoundError(name)
        return promised

    module = ModuleType("msgpack")
    module.version = found  # type: ignore[attr-defined]
    monkeypatch.setattr(packages, "version", version)
    monkeypatch.setitem(sys.modules, "msgpack", module)


def test_an_overwritten_msgpack_is_told_with_its_mend(monkeypatch: pytest.MonkeyPatch):
    installed(monkeypatch, promised="1.2.4", found=(0, 5, 6))
    told = packages.overwritten_msgpack()
    assert told is not None
    assert "msgpack 1.2.4 is installed, but importing it gives 0.5.6" in told
    assert "pip install --force-reinstall --no-deps 'msgpack==1.2.4'" in told


def test_an_intact_msgpack_is_not(monkeypatch: pytest.MonkeyPatch):
    installed(monkeypatch, promised="1.2.4", found=(1, 2, 4))
    assert packages.overwritten_msgpack() is None


def test_msgpack_python_alone_is_not(monkeypatch: pytest.MonkeyPatch):
    installed(monkeypatch, promised=None, found=(0, 5, 6))
    assert packages.overwritten_msgpack() is None


def test_an_msgpack_that_cannot_be_imported_is_told(monkeypatch: pytest.MonkeyPatch):
    installed(monkeypatch, promised="1.2.4", found=())
    monkeypatch.setitem(sys.modules, "msgpack", None)
    told = packages.overwritten_msgpack()
    assert told is not None
    assert "something else" in told
