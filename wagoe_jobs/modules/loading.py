"""From names and objects to modules: import, hand each its own settings table, ask what it contributes.

The table of a module is the one that its `settings_table` names, or else the last part of its own name; with
a `settings_model` (pydantic) it gets that instead of the mapping. A table that no module claims is refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from sysconfig import get_path
from traceback import extract_tb
from types import ModuleType

from dependency_injector.containers import DynamicContainer, is_container
from dependency_injector.providers import Configuration, Provider
from pydantic import BaseModel, ValidationError

from wagoe_jobs.errors import JobsError, SettingsError, WiringError
from wagoe_jobs.modules.contribution import Contribution, Module, checked
from wagoe_jobs.settings import Settings
from wagoe_jobs.settings.names import fold, quoted
from wagoe_jobs.settings.shapes import as_settings_error

_INSTALLED = tuple(get_path(name) for name in ("stdlib", "purelib", "platlib"))


@dataclass(frozen=True, slots=True)
class Source:
    """Something that may contribute, before it is asked; `table` is None where it would not read one."""

    name: str
    thing: object
    table: str | None


def load_modules(settings: Settings, given: Sequence[object] = ()) -> tuple[Module, ...]:
    """The modules that the settings name, then those given as objects or names, each asked once.

    Raises WiringError for what is no module, SettingsError for a table that nobody claims.
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise WiringError(f"modules: must be a list of modules, not {type(given).__name__}")
    sources = list(_sources([*settings.modules, *given]))
    _check_claims(sources, settings)
    return tuple(Module(source.name, source.thing, _contribution(source, settings)) for source in sources)


def _sources(given: Sequence[object]) -> Iterator[Source]:
    names: set[str] = set()
    for entry in given:
        thing = _imported(entry) if isinstance(entry, str) else entry
        if isinstance(thing, type) and is_container(thing):
            thing = thing()
        name = entry if isinstance(entry, str) else _name_of(thing)
        if name in names:
            raise WiringError(f"{name}: the module is given twice")
        names.add(name)
        yield Source(name, thing, _table_of(name, thing))


def _imported(name: str) -> object:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name and "." in name:
            parent, _, attribute = name.rpartition(".")
            found = getattr(_imported(parent), attribute, None)
            if found is not None:
                return found
        raise WiringError(f"{name}: the module cannot be imported: {error}{_place_of(error)}") from error
    except (
        Exception,
        SystemExit,
    ) as error:  # a module's own code may raise anything, and which module it was must be told
        told = f"{type(error).__name__}: {error}{_place_of(error)}"
        raise WiringError(f"{name}: the module cannot be imported: {told}") from error


def _place_of(error: BaseException) -> str:
    """Where an import came to its end, as " (/srv/shop/receipts.py, line 3)"; "" where no module was begun.

    The last line of what is not installed: below it the application is not to blame.
    """
    steps = [step for step in extract_tb(error.__traceback__)[2:] if not step.filename.startswith("<frozen ")]
    own = [step for step in steps if not step.filename.startswith(_INSTALLED)] or steps
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def _name_of(thing: object) -> str:
    if isinstance(thing, ModuleType):
        return thing.__name__
    declared = getattr(thing, "declarative_parent", None) if isinstance(thing, DynamicContainer) else None
    named = declared or (thing if isinstance(thing, type) else type(thing))
    return f"{named.__module__}.{named.__qualname__}"


def _table_of(name: str, thing: object) -> str | None:
    said = getattr(thing, "settings_table", None)
    if said is not None:
        return fold(said)
    reads = callable(getattr(thing, "configure", None)) or isinstance(getattr(thing, "config", None), Configuration)
    return fold(name.rpartition(".")[2]) if reads else None


def _check_claims(sources: Sequence[Source], settings: Settings) -> None:
    claimed: dict[str, str] = {}
    for source in sources:
        if source.table is None or source.table not in settings.tables:
            continue
        if source.table in claimed:
            raise WiringError(
                f"{source.table}: the settings table is claimed by {claimed[source.table]} and by {source.name}"
            )
        claimed[source.table] = source.name
    for table in sorted(settings.tables.keys() - claimed.keys()):
        known = ["jobs", "modules", "retention", *(source.table for source in sources if source.table)]
        near = get_close_matches(table, known, n=1)
        raise SettingsError(
            quoted(table), "no module claims this table" + (f": did you mean {near[0]}?" if near else "")
        )


def _contribution(source: Source, settings: Settings) -> Contribution:
    configure = getattr(source.thing, "configure", None)
    if isinstance(source.thing, DynamicContainer):
        return _of_container(source, source.thing, settings)
    if callable(configure):
        return checked(source.name, _asked(source, settings))
    handlers = getattr(source.thing, "job_handlers", None)
    if handlers is None:
        raise WiringError(f"{source.name}: neither configure nor job_handlers is there, so it would add nothing")
    return checked(source.name, Contribution(job_handlers=handlers))


def _asked(source: Source, settings: Settings) -> object:
    table = _own_settings(source, settings)
    try:
        return source.thing.configure(table, settings.enabled)  # type: ignore[attr-defined]
    except JobsError:
        raise
    except Exception as error:  # the module's own code: which one it was must be told
        raise WiringError(f"{source.name}: configure failed: {type(error).__name__}: {error}") from error


def _of_container(source: Source, container: DynamicContainer, settings: Settings) -> Contribution:
    """A container's providers join the system under the module's name; `job_handlers` is what it contributes."""
    table = settings.tables.get(source.table or "", {})
    config = container.providers.get("config")
    if isinstance(config, Configuration):
        config.from_dict(dict(table))
    own = {f"{source.name}.{name}": provider for name, provider in container.providers.items()}
    return Contribution(job_handlers=container.providers.get("job_handlers", ()), providers=_plain(own))


def _plain(providers: dict[str, "Provider[object]"]) -> dict[str, "Provider[object]"]:
    return {name: provider for name, provider in providers.items() if not isinstance(provider, Configuration)}


def _own_settings(source: Source, settings: Settings) -> object:
    table = settings.tables.get(source.table or "", {})
    model = getattr(source.thing, "settings_model", None)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return dict(table)
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise as_settings_error(error, source.table or source.name) from None
