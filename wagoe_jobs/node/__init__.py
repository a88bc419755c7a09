"""Booting a container in dependency order, and stopping it in exact reverse.

    with running(container) as system:          # or `async with`, in a host that has a loop
        system.client().enqueue("send-email", {"to": "ann@example.org"})

What consumes jobs starts after everything that does not need it, so that handlers find all resources open,
and stops first. The container's own `shutdown_resources` is not used: it looks no further than direct
arguments, and ends at the first error.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Generic, TypeVar

from wagoe_jobs.node.resources import Consuming, Opened
from wagoe_jobs.node.steps import boot, boot_async, stop, stop_async
from wagoe_jobs.node.system import AnyResource, System

__all__ = ["Consuming", "Opened", "Running", "System", "halt", "init", "restart", "running"]

C = TypeVar("C")


def running(container: C, only: Sequence[str] = ()) -> "Running[C]":
    """A context manager, sync and async, that yields the booted container; `only` names what to boot, with its needs.

    A failing start stops what was started. Stops that fail are raised together as an ExceptionGroup, after
    everything else was stopped. What was open before is left open.
    """
    return Running(container, only)


class Running(Generic[C]):
    """One run of a container; `running` makes it."""

    def __init__(self, container: C, only: Sequence[str]) -> None:
        self._container = container
        self._only = (only,) if isinstance(only, str) else tuple(only)
        self._runs: list[tuple[System, Sequence[AnyResource]]] = []

    def __enter__(self) -> C:
        system = System(self._container)
        self._runs.append((system, boot(system, self._only)))
        return self._container

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop(*self._runs.pop())

    async def __aenter__(self) -> C:
        system = System(self._container)
        self._runs.append((system, await boot_async(system, self._only)))
        return self._container

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await stop_async(*self._runs.pop())


def init(container: object, *names: str) -> Sequence[str]:
    """Boot these providers with what they need, or all; the names of what was started, in order."""
    system = System(container)
    return [system.name(step) for step in boot(system, names)]


def halt(container: object, *names: str) -> Sequence[str]:
    """Stop these providers and all that needs them, or everything, in reverse order; the names of what was stopped.

    Singletons that were built from what stopped are forgotten.
    """
    system = System(container)
    steps = [step for step in system.affected(names) if step.initialized]
    stop(system, steps)
    return [system.name(step) for step in reversed(steps)]


def restart(container: object, *names: str) -> Sequence[str]:
    """`halt`, then `init` of what was stopped; the names of what was started, in order."""
    stopped = halt(container, *names)
    return init(container, *stopped) if stopped else []
