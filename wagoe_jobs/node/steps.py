"""Starting and stopping one resource after the other, from a script and from a loop."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction, unwrap
from typing import Any

from dependency_injector import providers

from wagoe_jobs.errors import WiringError
from wagoe_jobs.node.resources import Consuming, Opened
from wagoe_jobs.node.system import AnyProvider, AnyResource, System

log = logging.getLogger("wagoe_jobs")


def boot(system: System, names: Sequence[str]) -> Sequence[AnyResource]:
    """Start what is not started yet of these, or of all; what was started, in order."""
    steps = [step for step in system.order(names) if not step.initialized]
    for step in steps:
        if _is_async(step):
            raise WiringError(f"{system.name(step)}: is asynchronous: boot with `async with running(...)`")
    started: list[AnyResource] = []
    try:
        for step in steps:
            _note("starting", system, step)
            started.append(
                step
            )  # first: one that is interrupted may be open, and stopping one that is not does nothing
            step.init()
    except BaseException as error:
        _tell(error, system, started, _stop_each(system, started))
        raise
    return started


async def boot_async(system: System, names: Sequence[str]) -> Sequence[AnyResource]:
    """`boot` in a loop: asynchronous resources are awaited, and what blocks goes to a thread."""
    started: list[AnyResource] = []
    try:
        for step in system.order(names):
            if not step.initialized:
                _note("starting", system, step)
                started.append(step)  # first: one that is cancelled may still be opening in its thread
                await _in_its_place(system, step, step.init)
    except BaseException as error:
        _tell(error, system, started, await _to_the_end(_stop_each_async(system, started)))
        raise
    return started


def stop(system: System, started: Sequence[AnyResource]) -> None:
    """Stop all of these in reverse; raises what failed together, when all were tried."""
    if errors := _stop_each(system, started):
        raise BaseExceptionGroup("not everything could be stopped", errors)


async def stop_async(system: System, started: Sequence[AnyResource]) -> None:
    """`stop` in a loop, to its end even if it is cancelled meanwhile."""
    if errors := await _to_the_end(_stop_each_async(system, started)):
        raise BaseExceptionGroup("not everything could be stopped", errors)


def _stop_each(system: System, started: Sequence[AnyResource]) -> list[BaseException]:
    errors = _begin_stops(system, started)
    for step in reversed(started):
        _note("stopping", system, step)
        try:
            step.shutdown()
        except BaseException as error:  # noqa: BLE001 - an interrupt too: what is below must still be closed
            _stop_failed(system, step, error, errors)
    system.forget(started)
    return errors


async def _stop_each_async(system: System, started: Sequence[AnyResource]) -> list[BaseException]:
    errors = _begin_stops(system, started)
    for step in reversed(started):
        _note("stopping", system, step)
        try:
            await _in_its_place(system, step, step.shutdown)
        except BaseException as error:  # noqa: BLE001 - as above
            _stop_failed(system, step, error, errors)
    system.forget(started)
    return errors


def _begin_stops(system: System, started: Sequence[AnyResource]) -> list[BaseException]:
    """Tell all that consumes at once: the times that they take to end do not add up then."""
    errors: list[BaseException] = []
    for step in reversed(started):
        try:
            if isinstance(step, Consuming):
                step.begin_stop()
        except BaseException as error:  # noqa: BLE001 - as for the stops themselves
            _stop_failed(system, step, error, errors)
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


def _tell(
    error: BaseException, system: System, started: Sequence[AnyResource], errors: Sequence[BaseException]
) -> None:
    if started:
        error.add_note(f"while starting {system.name(started[-1])}")
    for other in errors:
        error.add_note(f"and then stopping failed: {type(other).__name__}: {other}")


def _note(verb: str, system: System, step: AnyResource) -> None:
    log.debug("%s %s", verb, system.name(step))
