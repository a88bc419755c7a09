"""Booting a container in dependency order, and stopping it in exact reverse.

    with running(container) as system:          # or `async with`, in a host that has a loop
        system.client().enqueue("send-email", {"to": "ann@example.org"})

What consumes jobs starts after everything that does not need it, so that handlers find all resources open,
and stops first. The container's own `shutdown_resources` is not used: it looks no further than direct
arguments, and ends at the first error.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction, unwrap
from threading import RLock
from types import TracebackType
from typing import Any, Generic, TypeVar

from dependency_injector import providers
from dependency_injector.containers import Container, DynamicContainer

from wagoe_jobs.errors import WiringError
from wagoe_jobs.modules import Assembling, refuse_circles
from wagoe_jobs.registry import nearest

log = logging.getLogger("wagoe_jobs")

C = TypeVar("C", bound=Container)
AnyProvider = providers.Provider[Any]
AnyResource = providers.BaseResource[Any]


class Opened(providers.Resource[Any]):
    """A resource that opens once, whichever thread asks first, and once stopped opens by `init` only.

    `disabled` lets a boot pass it by, unless something that is booted needs it.
    """

    disabled = False

    def __init__(self, provides: Any = None, *args: Any, **kwargs: Any) -> None:
        self._opening = RLock()
        self._stopped = False
        super().__init__(provides, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self._opening:
            if self._stopped:
                raise WiringError(f"{_label(self)}: was stopped, and is not opened again by being used: boot it")
            return super().__call__(*args, **kwargs)

    def init(self) -> Any:
        with self._opening:
            self._stopped = False
            return super().init()

    def shutdown(self) -> Any:
        with self._opening:
            self._stopped = self._stopped or self.initialized
            return super().shutdown()


class Consuming(Opened):
    """What runs handlers, which may use anything: it starts last and stops first."""


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
        self._started: Sequence[AnyResource] = ()

    def __enter__(self) -> C:
        self._started = _boot(System(self._container), self._only)
        return self._container

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        system, started = System(self._container), self._started
        self._started = ()
        _stop(system, started)

    async def __aenter__(self) -> C:
        self._started = await _boot_async(System(self._container), self._only)
        return self._container

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        system, started = System(self._container), self._started
        self._started = ()
        await _to_the_end(_stop_async(system, started))


def init(container: Container, *names: str) -> Sequence[str]:
    """Boot these providers with what they need, or all; the names of what was started, in order."""
    system = System(container)
    return [system.name(step) for step in _boot(system, names)]


def halt(container: Container, *names: str) -> Sequence[str]:
    """Stop these providers and all that needs them, or everything, in reverse order; the names of what was stopped.

    Singletons that were built from what stopped are forgotten.
    """
    system = System(container)
    steps = [step for step in system.affected(names) if step.initialized]
    _stop(system, steps)
    return [system.name(step) for step in reversed(steps)]


def restart(container: Container, *names: str) -> Sequence[str]:
    """`halt`, then `init` of what was stopped; the names of what was started, in order."""
    stopped = halt(container, *names)
    return init(container, *stopped) if stopped else []


class System:
    """The providers of a container, of those embedded in it, and of its modules: named, and in the order of boot."""

    def __init__(self, container: Container) -> None:
        inner = getattr(container, "container", container)  # a providers.Container stands for what it holds
        if not isinstance(inner, DynamicContainer):
            raise WiringError(f"{container!r} is not a container instance: call its class")
        self.providers = _flat(inner)
        for provider in list(self.providers.values()):
            if isinstance(provider, Assembling):
                provider()
        self.providers = _flat(inner)  # once more: modules have added theirs
        refuse_circles(self.providers)
        self._names = {id(provider): name for name, provider in reversed(self.providers.items())}
        self._needs: dict[int, Mapping[int, AnyProvider]] = {}
        self._everything = self._in_order()

    def name(self, provider: AnyProvider) -> str:
        return self._names.get(id(provider), str(provider))

    def order(self, names: Sequence[str] = ()) -> Sequence[AnyResource]:
        """The resources that these providers need, or all, each after those that it needs."""
        wanted = [self._named(name) for name in names] or [
            step for step in self.affected(()) if not getattr(step, "disabled", False)
        ]
        needed = {id for provider in wanted for id in self.needs(provider)}
        return [step for step in self.affected(()) if id(step) in needed]

    def affected(self, names: Sequence[str]) -> Sequence[AnyResource]:
        """These resources and those that need them, in the order of boot; all without names."""
        targets = {id(self._named(name)) for name in names}
        return [
            step
            for step in self._everything
            if isinstance(step, providers.BaseResource) and (not names or targets & self.needs(step).keys())
        ]

    def forget(self, stopped: Sequence[AnyResource]) -> None:
        """Let singletons that were built from these be built anew."""
        ids = {id(step) for step in stopped}
        for provider in self._everything:
            if isinstance(provider, providers.BaseSingleton) and ids & self.needs(provider).keys():
                provider.reset()

    def needs(self, provider: AnyProvider) -> Mapping[int, AnyProvider]:
        """The provider itself and all that it needs, by id, what is needed before what needs it."""
        known = self._needs.get(id(provider))
        if known is None:
            found: dict[int, AnyProvider] = {}
            for inner in provider.related:
                found |= self.needs(inner)
            known = self._needs[id(provider)] = {**found, id(provider): provider}
        return known

    def _in_order(self) -> Sequence[AnyProvider]:
        """All that the system needs: what is needed first, and what consumes after everything else."""
        found: dict[int, AnyProvider] = {}
        for provider in sorted(self.providers.values(), key=self._late):
            found |= self.needs(provider)
        return list(found.values())

    def _late(self, provider: AnyProvider) -> int:
        return any(isinstance(step, Consuming) for step in self.needs(provider).values())

    def _named(self, name: str) -> AnyProvider:
        found = self.providers.get(name)
        if found is None:
            raise WiringError(f"{name}: there is no such provider{nearest(name, self.providers)}")
        return found


def _flat(container: DynamicContainer, prefix: str = "") -> dict[str, AnyProvider]:
    found: dict[str, AnyProvider] = {}
    for name, provider in container.providers.items():
        if isinstance(provider, providers.Container):
            found |= _flat(provider.container, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = provider
    return found


def _boot(system: System, names: Sequence[str]) -> Sequence[AnyResource]:
    steps = [step for step in system.order(names) if not step.initialized]
    for step in steps:
        if _is_async(step):
            raise WiringError(f"{system.name(step)}: is asynchronous: boot with `async with running(...)`")
    started: list[AnyResource] = []
    try:
        for step in steps:
            _note("starting", system, step)
            step.init()
            started.append(step)
    except BaseException as error:
        _tell(error, _stop_each(system, started))
        raise
    return started


async def _boot_async(system: System, names: Sequence[str]) -> Sequence[AnyResource]:
    started: list[AnyResource] = []
    try:
        for step in system.order(names):
            if not step.initialized:
                _note("starting", system, step)
                await _in_its_place(system, step, step.init)
                started.append(step)
    except BaseException as error:
        _tell(error, await _to_the_end(_stop_each_async(system, started)))
        raise
    return started


def _stop(system: System, started: Sequence[AnyResource]) -> None:
    if errors := _stop_each(system, started):
        raise BaseExceptionGroup("not everything could be stopped", errors)


async def _stop_async(system: System, started: Sequence[AnyResource]) -> None:
    if errors := await _stop_each_async(system, started):
        raise BaseExceptionGroup("not everything could be stopped", errors)


def _stop_each(system: System, started: Sequence[AnyResource]) -> list[BaseException]:
    errors: list[BaseException] = []
    for step in reversed(started):
        _note("stopping", system, step)
        try:
            step.shutdown()
        except BaseException as error:  # noqa: BLE001 - an interrupt too: what is below must still be closed
            _stop_failed(system, step, error, errors)
    system.forget(started)
    return errors


async def _stop_each_async(system: System, started: Sequence[AnyResource]) -> list[BaseException]:
    errors: list[BaseException] = []
    for step in reversed(started):
        _note("stopping", system, step)
        try:
            await _in_its_place(system, step, step.shutdown)
        except BaseException as error:  # noqa: BLE001 - as above
            _stop_failed(system, step, error, errors)
    system.forget(started)
    return errors


async def _in_its_place(system: System, step: AnyResource, act: Callable[[], Any]) -> None:
    """Act for one resource: ours block, so they go to a thread; what is asynchronous belongs to the loop."""
    asynchronous = any(_is_async(need) for need in system.needs(step).values())
    if isinstance(step, Opened) and not asynchronous:
        await asyncio.to_thread(act)
    elif isawaitable(done := act()):
        await done


async def _to_the_end(work: Awaitable[Any]) -> Any:
    """Await work that must not be left half done: a cancellation is raised when it has ended."""
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
        except BaseException:  # noqa: BLE001 - the task's own, raised by its result below
            break
    result = task.result()
    if cancelled:
        raise asyncio.CancelledError
    return result


def _is_async(provider: AnyProvider) -> bool:
    while provider.last_overriding is not None:
        provider = provider.last_overriding
    if not isinstance(provider, providers.BaseResource):
        return provider.is_async_mode_enabled()
    made_by = provider.provides
    plain = unwrap(made_by) if callable(made_by) else made_by
    return (
        provider.is_async_mode_enabled()
        or iscoroutinefunction(plain)
        or isasyncgenfunction(plain)
        or hasattr(plain, "__aenter__")
    )


def _stop_failed(system: System, step: AnyResource, error: BaseException, errors: list[BaseException]) -> None:
    log.error("%s did not stop: %s", system.name(step), error, exc_info=error)
    errors.append(error)


def _tell(error: BaseException, errors: Sequence[BaseException]) -> None:
    for other in errors:
        error.add_note(f"and then stopping failed: {type(other).__name__}: {other}")


def _note(verb: str, system: System, step: AnyResource) -> None:
    log.debug("%s %s", verb, system.name(step))


def _label(provider: Any) -> str:
    return getattr(provider.provides, "__name__", str(provider)).strip("_")
