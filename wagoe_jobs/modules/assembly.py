"""A system put together on paper: modules loaded, references connected, collections filled, nothing opened."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dependency_injector.providers import Provider, ThreadSafeSingleton

from wagoe_jobs.errors import WiringError
from wagoe_jobs.modules.contribution import Contribution, Module
from wagoe_jobs.modules.handlers import check_declared, providers_in
from wagoe_jobs.modules.loading import load_modules
from wagoe_jobs.modules.references import AnyProvider, Lookup, connect, fill
from wagoe_jobs.settings import Settings

JOB_HANDLERS = "job_handlers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """`providers` are the modules' components by name, `collections` what was contributed, with each module's name."""

    settings: Settings
    modules: tuple[Module, ...]
    providers: Mapping[str, AnyProvider]
    collections: Mapping[str, Sequence[tuple[str, object]]]

    @property
    def job_handlers(self) -> Sequence[tuple[str, object]]:
        """What each module contributed as handlers; none where jobs are not enabled."""
        return self.collections.get(JOB_HANDLERS, ())

    @property
    def handler_providers(self) -> Sequence[AnyProvider]:
        """What has to be there before the handlers are."""
        return [provider for _, contributed in self.job_handlers for provider in providers_in(contributed)]


def assemble(settings: Settings, given: Sequence[object], system: Mapping[str, AnyProvider], find: Lookup) -> Assembly:
    """Load the modules of the settings and those given, and connect them to the system.

    `system` are the providers that are there without modules, by name; `find` knows them, and whatever else a
    module may refer to. Circles are looked for by `refuse_circles`, once everything hangs together. Raises
    WiringError, and SettingsError for a table that no module claims.
    """
    modules = load_modules(settings, given)
    own = _components(modules, system)
    collections = _collections(modules, jobs="jobs" in settings.enabled)
    check_declared(collections.get(JOB_HANDLERS, ()))
    values = {name: [value for _, value in entries] for name, entries in collections.items()}
    for module in modules:
        within = list(_within(module, collections))
        fill(within, values)
        connect(module, within, lambda key: own.get(key) or find(key))
    return Assembly(settings=settings, modules=modules, providers=own, collections=collections)


def _components(modules: Sequence[Module], system: Mapping[str, AnyProvider]) -> Mapping[str, AnyProvider]:
    owners, components = dict.fromkeys(system, "the system itself"), dict[str, AnyProvider]()
    for module in modules:
        for key, provider in module.contribution.providers.items():
            if key in owners:
                raise WiringError(f"{key}: provided by {owners[key]} and by {module.name}")
            owners[key] = module.name
            components[key] = provider
    return components


def _collections(modules: Sequence[Module], *, jobs: bool) -> Mapping[str, Sequence[tuple[str, object]]]:
    found: dict[str, list[tuple[str, object]]] = {}
    for module in modules:
        for name, value in _contributed(module.contribution):
            if jobs or name != JOB_HANDLERS:
                found.setdefault(name, []).append((module.name, value))
    return found


def _contributed(contribution: Contribution) -> Iterator[tuple[str, object]]:
    if contribution.job_handlers != ():
        yield JOB_HANDLERS, contribution.job_handlers
    for name, value in contribution.contributes.items():
        several = isinstance(value, (list, tuple)) and name != JOB_HANDLERS
        for each in value if several else [value]:  # type: ignore[attr-defined]
            yield name, each


def _within(module: Module, collections: Mapping[str, Sequence[tuple[str, object]]]) -> Iterator[AnyProvider]:
    """Every provider that the module brought, wherever it brought it."""
    yield from module.contribution.providers.values()
    for entries in collections.values():
        for owner, value in entries:
            if owner == module.name:
                yield from providers_in(value)
                if isinstance(value, Provider):
                    yield value


class Assembling(ThreadSafeSingleton[Assembly]):
    """The provider of an assembly; a boot calls those that it finds before it opens anything.

    `added` names what the last assembly put into the container, so that another one may replace it.
    """

    added: frozenset[str] = frozenset()


class Needing(ThreadSafeSingleton[Any]):
    """A singleton that needs more than its arguments show: `needs` is known once the system is assembled."""

    needs: Sequence[AnyProvider] = ()

    @property
    def related(self) -> Iterator[AnyProvider]:
        yield from super().related
        yield from self.needs
