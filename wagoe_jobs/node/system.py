"""The providers of a container as a graph: what each needs, and in which order to boot them."""

from collections.abc import Mapping, Sequence
from typing import Any

from dependency_injector import providers
from dependency_injector.containers import DynamicContainer

from wagoe_jobs.errors import WiringError
from wagoe_jobs.modules import Assembling, Assembly, refuse_circles
from wagoe_jobs.node.resources import Consuming
from wagoe_jobs.registry import nearest

AnyProvider = providers.Provider[Any]
AnyResource = providers.BaseResource[Any]


class System:
    """The providers of a container, of those embedded in it, and of its modules: named, and in the order of boot."""

    def __init__(self, container: object) -> None:
        """Assembles what has to be assembled; opens nothing. Raises WiringError, SettingsError."""
        inner = getattr(container, "container", container)  # a providers.Container stands for what it holds
        if not isinstance(inner, DynamicContainer):
            raise WiringError(f"{container!r} is not a container instance: call its class")
        self.providers = _flat(inner)
        for provider in list(self.providers.values()):
            if isinstance(provider, Assembling) and not isinstance(provider(), Assembly):
                raise WiringError("settings and modules must be there before anything is opened, not awaited")
        self.providers = _flat(inner)  # once more: modules have added theirs
        refuse_circles(self.providers)
        self._names = {id(provider): name for name, provider in reversed(self.providers.items())}
        self._needs: dict[int, Mapping[int, AnyProvider]] = {}
        self._everything = self._in_order()

    def name(self, provider: AnyProvider) -> str:
        return self._names.get(id(provider), str(provider))

    def order(self, names: Sequence[str] = ()) -> Sequence[AnyResource]:
        """The resources that these providers need, or all, each after those that it needs."""
        wanted = [self._named(name) for name in names] or [
            step for step in self.affected(()) if not getattr(step, "disabled", False)
        ]
        needed = {id for provider in wanted for id in self.needs(provider)}
        return [step for step in self.affected(()) if id(step) in needed]

    def affected(self, names: Sequence[str]) -> Sequence[AnyResource]:
        """These resources and those that need them, in the order of boot; all without names."""
        targets = {id(self._named(name)) for name in names}
        return [
            step
            for step in self._everything
            if isinstance(step, providers.BaseResource) and (not names or targets & self.needs(step).keys())
        ]

    def forget(self, stopped: Sequence[AnyResource]) -> None:
        """Let singletons that were built from these be built anew."""
        ids = {id(step) for step in stopped}
        for provider in self._everything:
            if isinstance(provider, providers.BaseSingleton) and ids & self.needs(provider).keys():
                provider.reset()

    def needs(self, provider: AnyProvider) -> Mapping[int, AnyProvider]:
        """The provider itself and all that it needs, by id, what is needed before what needs it."""
        known = self._needs.get(id(provider))
        if known is None:
            found: dict[int, AnyProvider] = {}
            for inner in provider.related:
                found |= self.needs(inner)
            known = self._needs[id(provider)] = {**found, id(provider): provider}
        return known

    def _in_order(self) -> Sequence[AnyProvider]:
        """All that the system needs: what is needed first, and what consumes after everything else."""
        found: dict[int, AnyProvider] = {}
        for provider in sorted(self.providers.values(), key=self._late):
            found |= self.needs(provider)
        return list(found.values())

    def _late(self, provider: AnyProvider) -> int:
        return any(isinstance(step, Consuming) for step in self.needs(provider).values())

    def _named(self, name: str) -> AnyProvider:
        found = self.providers.get(name)
        if found is None:
            raise WiringError(f"{name}: there is no such provider{nearest(name, self.providers)}")
        return found


def _flat(container: DynamicContainer, prefix: str = "") -> dict[str, AnyProvider]:
    found: dict[str, AnyProvider] = {}
    for name, provider in container.providers.items():
        if isinstance(provider, providers.Container):
            found |= _flat(provider.container, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = provider
    return found
