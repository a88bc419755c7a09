"""What settings may already be written but nothing obeys yet: refused at start rather than ignored.

One table: when a capability arrives, its lines go.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wagoe_jobs.settings.names import Refused

if TYPE_CHECKING:
    from wagoe_jobs.settings.tables import JobsSettings

ABSENT = {
    "on_outcome": "outcome hooks",
    "report_failures_every_ms": "failure reports",
    "workers.processes": "several processes of one worker node",
    "recurring": "recurring jobs",
    "scheduler": "recurring jobs",
    "expect_success": "staleness reports",
    "retention": "retention",
}
"""Setting: what it belongs to. Its default is accepted, everything else refused."""

HARMLESS: Mapping[str, object] = {"scheduler": {"enabled": False}}
"""What asks for nothing, though it is not the default."""


def refuse_absent(settings: "JobsSettings") -> None:
    """Raises Refused for the first setting that nothing would obey."""
    for path, capability in ABSENT.items():
        value, default = _at(settings, path), _at(type(settings).model_construct(), path)
        if value != default and _given(value) != HARMLESS.get(path):
            raise Refused(path, f"{capability}: not part of this version, so this setting would do nothing: remove it")


def _at(settings: object, path: str) -> object:
    for name in path.split("."):
        settings = getattr(settings, name)
    return settings


def _given(value: object) -> object:
    dump = getattr(value, "model_dump", None)
    return dump(exclude_defaults=True) if dump else value
