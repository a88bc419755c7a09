"""The environment as a source of settings: `WAGOE_JOBS__WORKERS__COUNT=0` is jobs.workers.count.

Two underscores part the names, in any case. Every name under the prefix that is no setting is refused, so
that a slip does not go unnoticed; and a variable sets a value, never enables jobs.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr

from wagoe_jobs.errors import SettingsError
from wagoe_jobs.settings.examples import example_text
from wagoe_jobs.settings.later import ABSENT, later_reason, of_today
from wagoe_jobs.settings.names import Refused, joined, leaves, plain_type
from wagoe_jobs.settings.shapes import tree
from wagoe_jobs.settings.tables import JobsSettings

PREFIX = "WAGOE_JOBS_"


@dataclass(frozen=True, slots=True)
class Variables:
    """What the environment says of the jobs table, and which variable said what."""

    jobs: dict[str, Any]
    names: Mapping[str, str]

    def under(self, stronger: Mapping[str, Any]) -> "Variables":
        """These, without the names of those that the jobs table of a stronger source gives too."""
        return replace(self, names={path: name for path, name in self.names.items() if not _gives(stronger, path)})

    def blamed(self, error: SettingsError) -> SettingsError:
        """The error, with the variable named that it came from, if one."""
        for path, name in self.names.items():
            if error.path == path or error.path.startswith((f"{path}.", f"{path}[")):
                return SettingsError(error.path, f"{error.reason} (from the environment's {name})")
        parts = ", ".join(name for path, name in self.names.items() if path.startswith(f"{error.path}."))
        if not parts:
            return error
        return SettingsError(error.path, f"{error.reason} (part of it is the environment's {parts})")


def read_environment(environ: Mapping[str, str]) -> Variables:
    """The `WAGOE_JOBS__*` variables. Tables that are keyed by job type, and lists, are JSON.

    Raises SettingsError for any other name that begins with `WAGOE_JOBS_`, or is `WAGOE_JOBS`.
    """
    known = {_variable(path): (path, annotation) for path, annotation in leaves(JobsSettings)}
    jobs: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, text in sorted(environ.items()):
        spelled = name.upper().replace("-", "_")
        if not f"{spelled}_".startswith(PREFIX):
            continue
        if spelled not in known:
            raise SettingsError(name, _later(spelled) or _unknown_variable(spelled, known))
        path, annotation = known[spelled]
        dotted = joined("jobs", *path)
        if dotted in names:
            raise SettingsError(name, f"is given twice: as {names[dotted]} and as {name}")
        names[dotted] = name
        try:
            _put(jobs, path, _value(name, annotation, text))
        except SettingsError as error:
            raise SettingsError(name, later_reason(dotted) or error.reason) from None
    try:
        return Variables(tree(JobsSettings, jobs, "jobs"), names)
    except SettingsError as error:
        raise Variables(jobs, names).blamed(of_today(error)) from None


def _gives(table: Any, path: str) -> bool:
    for name in path.split(".")[1:]:
        if not (isinstance(table, Mapping) and name in table):
            return False
        table = table[name]
    return True


def _variable(path: Iterable[str]) -> str:
    return "__".join(("WAGOE_JOBS", *path)).upper()


def _later(spelled: str) -> str | None:
    """Why a name that is no setting is refused if it lies in a table of a later version."""
    tables = (path for path in ABSENT if spelled.startswith(f"{_variable(path.split('.')[1:])}__"))
    return next((later_reason(path) for path in tables if path.startswith("jobs.")), None)


def _unknown_variable(spelled: str, known: Mapping[str, tuple[tuple[str, ...], Any]]) -> str:
    names = list(known)
    inside = [name for name in names if name.startswith(f"{spelled.rstrip('_')}__")]
    if inside:
        return f"is a table of settings: set one of them, as {inside[0]}"
    outside = [name for name in names if spelled.startswith(f"{name}__")]
    if outside:
        scalar = _textual(kind := plain_type(known[outside[0]][1])) or _is_scalar(kind)
        return f"is no setting: {outside[0]} takes " + ("one value" if scalar else "all of it, as JSON")
    near = get_close_matches(spelled, names, n=1, cutoff=0.6)
    return f"is no setting: did you mean {near[0]}?" if near else "is no setting: names look like WAGOE_JOBS__LEASE_MS"


def _value(name: str, annotation: Any, text: str) -> object:
    if not text.strip():
        raise SettingsError(name, "is empty: unset it, or give it a value")
    if _textual(plain_type(annotation)):
        return text
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except Refused as refused:
        raise SettingsError(name, refused.reason) from None
    except (ValueError, RecursionError):
        if _is_scalar(plain_type(annotation)):
            return text
        raise SettingsError(name, f"must be JSON: write {name}={example_text(annotation)}") from None


def _textual(kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return all(isinstance(choice, str) for choice in get_args(kind))
    return kind in (str, SecretStr)


def _is_scalar(kind: Any) -> bool:
    return get_origin(kind) is Literal or kind in (int, float, bool)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Refused("", "names a key twice in its JSON")
    return found


def _put(jobs: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    *tables, leaf = path
    for name in tables:
        jobs = jobs.setdefault(name, {})
    jobs[leaf] = value
