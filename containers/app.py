"""The application as one container: its own database and services, and the jobs, which it embeds.

A node is the same application with another settings file laid over the common ones. The modules that
settings/jobs.toml names contribute their handlers, built from what they `ref` in here, and the jobs' container
merges these into one registry.
"""

import os
from pathlib import Path

from dependency_injector import containers, providers

from examples.shop.checkout import Checkout
from examples.shop.database import open_database
from examples.shop.places import places
from wagoe_jobs.containers import JobsContainer
from wagoe_jobs.node import Opened
from wagoe_jobs.settings import Settings, load_settings

SETTINGS = Path(__file__).resolve().parents[1] / "settings"
STORES = {"redis": "redis.toml"}
"""The file about the store, by the provider that the environment names; sql.toml otherwise."""


class Shop(containers.DeclarativeContainer):
    """What every node of the application has in common."""

    settings = providers.Dependency(instance_of=Settings)
    places = providers.Singleton(places)
    database = Opened(open_database, settings=settings, places=places)
    jobs = providers.Container(JobsContainer, settings=settings)
    checkout = providers.Singleton(Checkout, database=database, jobs=jobs.client)


def node_settings(node: str) -> Settings:
    """The settings of the node that settings/<node>.toml describes. Raises SettingsError."""
    store = STORES.get(os.environ.get("WAGOE_JOBS__PROVIDER", ""), "sql.toml")
    return load_settings(SETTINGS / "jobs.toml", SETTINGS / store, SETTINGS / f"{node}.toml")


def node(name: str) -> Shop:
    """The container of one node; nothing is opened before it runs."""
    return Shop(settings=node_settings(name))
