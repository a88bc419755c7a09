"""Where settings come from, strongest first: given in code, the environment, TOML files (later over earlier), defaults.

Every source is read into the same shape, names in snake_case, before one is laid over another; so a value
is refused under the same path wherever it came from, and the environment's are named with their variable.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from wagoe_jobs.errors import SettingsError
from wagoe_jobs.settings.environment import read_environment
from wagoe_jobs.settings.later import of_today
from wagoe_jobs.settings.names import (
    Refused,
    Table,
    fold,
    joined,
    keyed_table_in,
    leaves,
    names_of,
    quoted,
    table_in,
)
from wagoe_jobs.settings.shapes import as_settings_error, kind_of, tree
from wagoe_jobs.settings.tables import JobsSettings, RetentionSettings
from wagoe_jobs.settings.values import Hours, log, refuse_naive

TABLES: Mapping[str, type[Table]] = {"jobs": JobsSettings, "retention": RetentionSettings}
T = TypeVar("T", bound=Table)

_SERVER = frozenset({"host", "port", "db", "username", "password", "ssl"})
REPLACED: Mapping[str, frozenset[str]] = {
    "queues": frozenset({"queue_name"}),
    "queue_name": frozenset({"queues"}),
    "url": _SERVER | {"sentinel"},
    "host": frozenset({"url", "sentinel"}),
    "sentinel": frozenset({"url", "host", "port"}),
}
"""Names for one thing: a stronger source that gives the first makes void what a weaker one gave of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A system's settings. `jobs` is None where no jobs table switches them on.

    `tables` are the other top-level tables, each to be claimed by the module that it is for; they may
    hold secrets, so that they are in no repr.
    """

    modules: tuple[str, ...] = ()
    jobs: JobsSettings | None = None
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    tables: Mapping[str, Mapping[str, object]] = field(default_factory=dict, repr=False)

    @property
    def enabled(self) -> frozenset[str]:
        """Names of the tables that are there: a module asks `"jobs" in enabled`."""
        return frozenset(self.tables) | ({"jobs"} if self.jobs is not None else set())


def load_settings(
    *toml: str | os.PathLike[str],
    given: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Settings from TOML files, the environment (`os.environ` unless given) and what the caller gives.

    `given` is shaped as a file is: `{"modules": [...], "jobs": {...}}`. Raises SettingsError.
    """
    system: dict[str, Any] = {}
    for path in toml:
        system = laid_over(system, _shaped(read_toml(path)))
    variables = read_environment(os.environ if environ is None else environ)
    if given is not None and not isinstance(given, Mapping):
        raise SettingsError("settings", f"must be a mapping, not {type(given).__name__}")
    stronger = _shaped(given or {})
    if "jobs" in system or "jobs" in stronger:
        system = laid_over(system, {"jobs": variables.jobs})
    elif variables.jobs:
        log.warning("settings: the environment alone does not enable jobs: add a [jobs] table")
    variables = variables.under(stronger.get("jobs", {}))
    try:
        return _settings(laid_over(system, stronger), variables.names)
    except SettingsError as error:
        raise variables.blamed(error) from None


def read_jobs(given: "Mapping[str, object] | JobsSettings") -> JobsSettings:
    """The jobs block alone, from a mapping as its TOML table would give; raises SettingsError."""
    if isinstance(given, JobsSettings):
        return given
    return _table(JobsSettings, _shaped_table("jobs", given), "jobs", {})


def read_toml(path: str | os.PathLike[str]) -> dict[str, object]:
    """One file's tables; raises SettingsError that names the file, and the line where it can be told."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")  # some editors begin a file with the mark
        return tomllib.loads(text)
    except OSError as error:
        raise SettingsError(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(str(path), f"is not UTF-8 text, at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(str(path), f"is not TOML: {error}") from None
    except RecursionError:
        raise SettingsError(str(path), "is nested too deep") from None


def laid_over(weaker: Mapping[str, Any], stronger: Mapping[str, Any]) -> dict[str, Any]:
    """Two systems' tables as one: the jobs tables setting by setting, a module's own key by key."""
    merged = dict(weaker)
    for name, given in stronger.items():
        old = merged.get(name)
        if not (isinstance(old, Mapping) and isinstance(given, Mapping)):
            merged[name] = given
        elif name in TABLES:
            merged[name] = _over(TABLES[name], old, given)
        else:
            merged[name] = laid_over(old, given)
    return merged


def _over(table: type[Table], weaker: Mapping[str, Any], stronger: Mapping[str, Any]) -> dict[str, Any]:
    annotations = names_of(table)
    replaced = {name for given in stronger for name in REPLACED.get(given, ())}
    merged = {name: value for name, value in weaker.items() if name not in replaced}
    for name, given in stronger.items():
        merged[name] = _one_over(annotations[name], merged.get(name), given)
    return merged


def _one_over(annotation: Any, weaker: Any, stronger: Any) -> Any:
    if not (isinstance(weaker, Mapping) and isinstance(stronger, Mapping)):
        return stronger
    if (inner := table_in(annotation)) is not None:
        return _over(inner, weaker, stronger)
    if (keyed := keyed_table_in(annotation)) is not None:
        return {**weaker, **{key: _one_over(keyed, weaker.get(key), value) for key, value in stronger.items()}}
    # Numbers by job type are one table; args are one value, which a merge would make a third one of.
    return {**weaker, **stronger} if get_args(annotation)[1:] == (Hours,) else stronger


def _shaped(given: Mapping[str, object]) -> dict[str, Any]:
    """One source's tables, the names that are ours in snake_case; the other tables' keys are their module's."""
    spelled: dict[str, str] = {}
    for key in given:
        if not isinstance(key, str):
            raise SettingsError(quoted(key), "is not the name of a table")
        if fold(key) in spelled:
            raise SettingsError(quoted(key), f"is given twice: as {spelled[fold(key)]} and as {key}")
        spelled[fold(key)] = key
    try:
        refuse_naive(given)
    except Refused as refused:
        raise SettingsError(refused.key, refused.reason) from None
    except RecursionError:
        raise SettingsError("settings", "are nested too deep, or contain themselves") from None
    return {name: _shaped_table(name, given[key]) for name, key in spelled.items()}


def _shaped_table(name: str, given: object) -> object:
    if name in TABLES:
        try:
            return tree(TABLES[name], given, name)
        except SettingsError as error:
            raise of_today(error) from None
    if name == "modules" or isinstance(given, Mapping):
        return given
    raise SettingsError(quoted(name), _misplaced(name))


def _misplaced(name: str) -> str:
    homes = [joined("jobs", *path) for path, _ in leaves(JobsSettings) if path[-1] == name]
    near = homes or get_close_matches(name, ["modules", "jobs", "retention"], n=1)
    return "is not a table" + (f": did you mean {near[0]}?" if near else ", and only modules may be none")


def _settings(system: Mapping[str, Any], variables: Mapping[str, str]) -> Settings:
    jobs = system.get("jobs")
    retention = _table(RetentionSettings, system.get("retention", {}), "retention", {})
    return Settings(
        modules=_modules(system.get("modules", ())),
        jobs=None if jobs is None else _table(JobsSettings, jobs, "jobs", variables),
        retention=retention,
        tables={name: table for name, table in system.items() if name not in ("modules", "jobs", "retention")},
    )


def _table(table: type[T], given: object, path: str, variables: Mapping[str, str]) -> T:
    try:
        return table.model_validate(given)
    except ValidationError as error:
        raise of_today(as_settings_error(error, path, table, variables)) from None


def _modules(given: object) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)):
        raise SettingsError(
            "modules", f'must be a list of dotted names, not {kind_of(given)}: write modules = ["shop.receipts"]'
        )
    for index, name in enumerate(given):
        if not (isinstance(name, str) and all(part.isidentifier() for part in name.split("."))):
            raise SettingsError(
                f"modules[{index}]", "must be a dotted name; module objects go into the container's `modules`"
            )
        if name in given[:index]:
            raise SettingsError(f"modules[{index}]", f"{name} is named twice")
    return tuple(given)
