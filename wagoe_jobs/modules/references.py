"""How a module's providers reach what others provide: by name, through `ref` and `collected`.

Both stand for something until the system is assembled. A name that nobody provides and a circle of
references are refused then, with who needs it and with the path.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dependency_injector.containers import DynamicContainer
from dependency_injector.providers import Dependency, List, Provider, traverse

from wagoe_jobs.errors import WiringError
from wagoe_jobs.modules.contribution import Module

AnyProvider = Provider[Any]
Lookup = Callable[[str], "AnyProvider | None"]


class Ref(Dependency[Any]):
    """Another component, by its name in the system: `providers.Singleton(Receipts, queue=ref("job_queue"))`."""

    def __init__(self, key: str = "") -> None:
        super().__init__()
        self.key = key

    def __deepcopy__(self, memo: dict[Any, Any] | None = None) -> "Ref":
        copied = super().__deepcopy__(memo)
        assert isinstance(copied, Ref)
        copied.key = self.key
        return copied


class Collected(List):
    """Everything that modules contributed to a collection, in the order of the modules, providers resolved."""

    def __init__(self, key: str = "") -> None:
        super().__init__()
        self.key = key

    def __deepcopy__(self, memo: dict[Any, Any] | None = None) -> "Collected":
        copied = super().__deepcopy__(memo)
        assert isinstance(copied, Collected)
        copied.key = self.key
        return copied


def ref(key: str) -> Ref:
    return Ref(key)


def collected(key: str) -> Collected:
    return Collected(key)


def connect(module: Module, within: Iterable[AnyProvider], find: Lookup) -> None:
    """Let what the module refers to be what the system has under that name; raises WiringError for none."""
    for key in module.contribution.requires:
        if find(key) is None:
            raise _missing(key, module.name)
    open_names = _open_names(module)
    for provider in list(traverse(*within)):
        key = provider.key if isinstance(provider, Ref) else open_names.get(id(provider), "")
        if isinstance(provider, Dependency) and not provider.is_defined:
            found = find(key) if key else None
            if found is None:
                raise _missing(key or str(provider.parent_name), module.name)
            if found is provider:
                raise WiringError(f"a circle of references: {key} -> {key}")
            provider.override(found)


def fill(within: Iterable[AnyProvider], collections: Mapping[str, Iterable[object]]) -> None:
    """Give each `collected` its values."""
    for provider in list(traverse(*within)):
        if isinstance(provider, Collected):
            provider.set_args(*collections.get(provider.key, ()))


def refuse_circles(named: Mapping[str, AnyProvider]) -> None:
    """Raises WiringError with the path of a circle of references, if there is one."""
    names = {id(provider): name for name, provider in named.items()}
    done: set[int] = set()
    for provider in named.values():
        _walk(provider, names, done)


def _walk(start: AnyProvider, names: Mapping[int, str], done: set[int]) -> None:
    path: list[AnyProvider] = []
    branches: list[Iterator[AnyProvider]] = [iter([start])]
    on_path: set[int] = set()
    while branches:
        step = next(branches[-1], None)
        if step is None:
            branches.pop()
            if path:
                left = path.pop()
                on_path.discard(id(left))
                done.add(id(left))
        elif id(step) in on_path:
            raise _circle([*path, step], names)
        elif id(step) not in done:
            path.append(step)
            on_path.add(id(step))
            branches.append(iter(step.related))


def _circle(path: list[AnyProvider], names: Mapping[int, str]) -> WiringError:
    first = next(index for index, provider in enumerate(path) if provider is path[-1])
    known = [names[id(provider)] for provider in path[first:-1] if id(provider) in names]
    return WiringError(f"a circle of references: {' -> '.join([*known, *known[:1]])}")


def _open_names(module: Module) -> Mapping[int, str]:
    """A container says what it needs by the names of its undefined dependencies."""
    if not isinstance(module.source, DynamicContainer):
        return {}
    return {id(provider): name for name, provider in module.source.dependencies.items()}


def _missing(key: str, needed_by: str) -> WiringError:
    return WiringError(f"{key}: needed by {needed_by}, but nobody provides it")
