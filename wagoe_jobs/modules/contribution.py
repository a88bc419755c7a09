"""What one module adds to a system."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dependency_injector.providers import Provider

from wagoe_jobs.errors import WiringError


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """All parts are optional.

    `job_handlers` is a mapping {type: callable}, a list of `@handler` functions, a provider of either, or a
    list of several of these. `providers` are components under names of their own, which others may `ref`.
    `requires` names what must be there although no provider says so. `contributes` adds one value, or a
    list of values, to collections by name; "job_handlers" is one, and a module may ask for any with `collected`.
    """

    job_handlers: object = ()
    retention: Mapping[str, object] = field(default_factory=dict)
    recurring: Mapping[str, object] = field(default_factory=dict)
    providers: Mapping[str, "Provider[object]"] = field(default_factory=dict)
    requires: Sequence[str] = ()
    contributes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Module:
    """A module that was loaded, under the name that errors call it by."""

    name: str
    source: object
    contribution: Contribution


def checked(name: str, given: object) -> Contribution:
    """The contribution, if it is one; raises WiringError that names the module and the part that is not."""
    if not isinstance(given, Contribution):
        raise WiringError(f"{name}: configure must return a Contribution, not {type(given).__name__}")
    for part in ("retention", "recurring", "providers", "contributes"):
        if not isinstance(getattr(given, part), Mapping):
            raise WiringError(f"{name}: {part} must be a mapping, not {type(getattr(given, part)).__name__}")
    if not _are_names(given.requires):
        raise WiringError(f"{name}: requires must be a list of names")
    if not _are_names(given.contributes):
        raise WiringError(f"{name}: contributes must be a mapping of names to what is added under them")
    for key, provider in given.providers.items():
        if not (isinstance(key, str) and isinstance(provider, Provider)):
            raise WiringError(f"{name}: providers[{key!r}] must be a dependency-injector provider under a name")
    for part in ("retention", "recurring"):
        if getattr(given, part):
            raise WiringError(f"{name}: {part}: not part of this version yet, so nothing would run it: remove it")
    contributes = {key: _kept(value) for key, value in given.contributes.items()}
    return replace(given, job_handlers=_kept(given.job_handlers), contributes=contributes)


def _are_names(keys: object) -> bool:
    """Whether these are several names; an iterator is not, since it could be asked once only."""
    return (
        isinstance(keys, Collection)
        and not isinstance(keys, (str, bytes))
        and all(isinstance(key, str) and key for key in keys)
    )


def _kept(values: object) -> object:
    """An iterator would be empty when it is looked at a second time."""
    return list(values) if isinstance(values, Iterator) else values
