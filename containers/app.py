"""What every node of the application has in common: which settings files, and so which modules.

A node is the same application with another file laid over the common ones. The modules that settings/jobs.toml
names contribute their handlers, and the container merges these into one registry.
"""

from pathlib import Path

from wagoe_jobs.containers import JobsContainer
from wagoe_jobs.settings import Settings, load_settings

SETTINGS = Path(__file__).resolve().parents[1] / "settings"


def node_settings(node: str) -> Settings:
    """The settings of the node that settings/<node>.toml describes. Raises SettingsError."""
    return load_settings(SETTINGS / "jobs.toml", SETTINGS / "sql.toml", SETTINGS / f"{node}.toml")


def node(name: str) -> JobsContainer:
    """The container of one node; nothing is opened before it runs."""
    return JobsContainer(settings=node_settings(name))
