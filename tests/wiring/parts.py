"""Things to wire: modules made on the spot, and resources that note when they open and close."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from dependency_injector import providers

from wagoe_jobs.containers import JobsContainer

MEMORY: dict[str, object] = {"provider": "memory", "workers": {"poll_interval_ms": 10}}


def module(name: str, **attributes: object) -> ModuleType:
    """A Python module with these attributes."""
    made = ModuleType(name)
    for key, value in attributes.items():
        setattr(made, key, value)
    return made


def system(*modules: object, jobs: Any = MEMORY, **more: Any) -> JobsContainer:
    """A container of these modules; `jobs` None leaves jobs disabled, other keywords are inputs or tables."""
    inputs = {key: more.pop(key) for key in list(more) if key in JobsContainer.providers}
    given = {**more, **({} if jobs is None else {"jobs": jobs})}
    return JobsContainer(settings=given, modules=list(modules), **inputs)


class Recorder:
    """Makes resources that write down when they start and stop, in `events`."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def resource(
        self, name: str, *needs: Any, fail_start: bool = False, fail_stop: bool = False
    ) -> "providers.Resource[Any]":
        def opened(*_: object) -> Iterator[str]:
            if fail_start:
                raise RuntimeError(f"{name} does not start")
            self.events.append(f"+{name}")
            yield name
            self.events.append(f"-{name}")
            if fail_stop:
                raise RuntimeError(f"{name} does not stop")

        return providers.Resource(opened, *needs)


def nothing(args: object) -> None:
    """A handler."""
