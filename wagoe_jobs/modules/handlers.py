"""The job handlers of all modules as one registry.

What can be seen without building anything (mappings, lists, marked functions, providers of those) is checked
before the system opens; what only a provider can tell is checked when the registry is built, at boot.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from dependency_injector import providers

from wagoe_jobs.errors import WiringError
from wagoe_jobs.registry import Handler, Registry, handlers_of

T = TypeVar("T")
Sources = Iterable[tuple[str, object]]
"""Pairs of a module's name and what it contributed."""


def check_declared(sources: Sources) -> None:
    """Raises WiringError for a type of two modules, or a handler that cannot be one, as far as can be seen."""
    owners: dict[str, str] = {}
    for module, contributed in sources:
        with _named(module):
            declared = dict(_declared(contributed))
        for type in declared:
            _own(owners, type, module)


def registry_of(sources: Sources) -> Registry:
    """All handlers, providers resolved; raises WiringError as `check_declared`, now that everything shows."""
    owners: dict[str, str] = {}
    merged: dict[str, Handler] = {}
    for module, contributed in sources:
        with _named(module):
            handlers = dict(_resolved(contributed))
        for type, entry in handlers.items():
            _own(owners, type, module)
            merged[type] = entry
    return Registry(merged)


def providers_in(contributed: object) -> Iterator["providers.Provider[object]"]:
    """The providers that a contribution is made of, not what they refer to."""
    match contributed:
        case providers.Provider():
            yield contributed
        case Mapping():
            yield from (item for item in contributed.values() if isinstance(item, providers.Provider))
        case list() | tuple():
            for item in contributed:
                yield from providers_in(item)


def _declared(contributed: object) -> Iterator[tuple[str, object]]:
    match contributed:
        case providers.Provider() if contributed.overridden:
            return
        case providers.Dict():
            yield from _declared(contributed.kwargs)
        case providers.List():
            yield from _declared(list(contributed.args))
        case providers.Object():
            yield from _declared(contributed())
        case providers.Provider():
            return
        case Mapping():
            told = {type: item for type, item in contributed.items() if not isinstance(item, providers.Provider)}
            yield from handlers_of(told).items()
            yield from ((type, item) for type, item in contributed.items() if type not in told)
        case list() | tuple():
            yield from _once(pair for item in contributed for pair in _declared(item))
        case _:
            yield from handlers_of(contributed).items()


def _resolved(contributed: object) -> Iterator[tuple[str, Handler]]:
    match contributed:
        case providers.Provider():
            yield from _resolved(contributed())
        case Mapping():
            for type, item in contributed.items():
                built = item() if isinstance(item, providers.Provider) else item
                yield from handlers_of({type: built}).items()
        case list() | tuple():
            yield from _once(pair for item in contributed for pair in _resolved(item))
        case _:
            yield from handlers_of(contributed).items()


def _once(pairs: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T]]:
    seen: set[str] = set()
    for type, item in pairs:
        if type in seen:
            raise WiringError(f"job type {type!r} is contributed twice")
        seen.add(type)
        yield type, item


def _own(owners: dict[str, str], type: str, module: str) -> None:
    if type in owners:
        raise WiringError(f"job type {type!r} is contributed by {owners[type]} and by {module}")
    owners[type] = module


@contextmanager
def _named(module: str) -> Iterator[None]:
    try:
        yield
    except WiringError as error:
        raise WiringError(f"{module}: {error}") from None
