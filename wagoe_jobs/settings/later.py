"""What settings may already be written but nothing obeys yet: refused at start rather than ignored.

One table: when a capability arrives, its lines go. Whatever else is wrong with such a setting is not told: who
mended it would be refused all the same.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wagoe_jobs.errors import SettingsError
from wagoe_jobs.settings.names import Refused, Table

if TYPE_CHECKING:
    from wagoe_jobs.settings.tables import JobsSettings, RetentionSettings

ABSENT = {
    "jobs.on_outcome": "outcome hooks",
    "jobs.report_failures_every_ms": "failure reports",
    "jobs.workers.processes": "several processes of one worker node",
    "jobs.recurring": "recurring jobs",
    "jobs.scheduler": "recurring jobs",
    "jobs.expect_success": "staleness reports",
    "jobs.retention": "retention",
    "retention": "retention",
}
"""Setting: what it belongs to. Its default is accepted, everything else refused."""

_TABLES = frozenset({"jobs.recurring", "jobs.scheduler", "jobs.expect_success", "jobs.retention", "retention"})
_HARMLESS: Mapping[str, object] = {"jobs.scheduler": {"enabled": False}}
"""What asks for nothing, though it is not the default."""


def refuse_absent(settings: "JobsSettings | RetentionSettings", root: str) -> None:
    """Raises Refused for the first setting below `root` that nothing would obey."""
    for path in ABSENT:
        if path != root and not path.startswith(f"{root}."):
            continue
        inside = path.removeprefix(root).removeprefix(".")
        value, default = _at(settings, inside), _at(type(settings).model_construct(), inside)
        if value != default and _given(value) != _HARMLESS.get(path):
            raise Refused(inside, _reason(path))


def of_today(error: SettingsError) -> SettingsError:
    """The error; for a setting of a later version, or anything inside it, that it is one."""
    for path in ABSENT:
        if error.path == path or error.path.startswith((f"{path}.", f"{path}[")):
            return SettingsError(path, _reason(path))
    return error


def later_reason(path: str) -> str | None:
    """Why the setting with this path, or with one inside, is refused whatever it is; None for those of today."""
    told = of_today(SettingsError(path, ""))
    return told.reason or None


def _reason(path: str) -> str:
    kind = "table" if path in _TABLES else "setting"
    return f"{ABSENT[path]}: not part of this version yet, so nothing would obey this {kind}: remove it"


def _at(settings: object, path: str) -> object:
    for name in path.split(".") if path else ():
        settings = getattr(settings, name)
    return settings


def _given(value: object) -> object:
    return value.model_dump(exclude_defaults=True) if isinstance(value, Table) else value
