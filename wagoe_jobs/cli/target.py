"""Finds the container that `-a package.module:container` names; the working directory is importable."""

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from inspect import getattr_static
from pkgutil import iter_modules
from types import ModuleType

from dependency_injector import providers
from dependency_injector.containers import DynamicContainer

from wagoe_jobs.errors import JobsError, WiringError
from wagoe_jobs.registry import nearest

DEFAULT_NAME = "container"


def container_at(target: str) -> DynamicContainer:
    """The container; a bare module name means its `container`. Raises WiringError with the names that there are."""
    module_name, _, attribute = target.partition(":")
    attribute = attribute or DEFAULT_NAME
    if not all(part.isidentifier() for part in f"{module_name}.{attribute}".split(".")):
        raise WiringError(f"{target!r} names no container: write package.module:container")
    found = _attribute(_module(module_name), module_name, attribute)
    if isinstance(found, providers.Container):
        found = found.container
    if not isinstance(found, DynamicContainer):
        raise WiringError(f"{module_name}:{attribute} is a {_kind(found)}, not a dependency-injector container")
    return found


def jobs_part(container: DynamicContainer) -> DynamicContainer:
    """The container's jobs: itself if it is a JobsContainer, else the one that it embeds. Raises WiringError."""
    found = _jobs_part(container)
    if found is None:
        raise WiringError("the container has no jobs: neither is it a JobsContainer, nor does it embed one")
    return found


def _jobs_part(container: DynamicContainer) -> DynamicContainer | None:
    if "jobs_runtime" in container.providers:
        return container
    inner = (p.container for p in container.providers.values() if isinstance(p, providers.Container))
    return next((found for each in inner if (found := _jobs_part(each)) is not None), None)


def _kind(found: object) -> str:
    return f"{found.__name__} class (make one: {found.__name__}())" if isinstance(found, type) else type(found).__name__


def _module(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with redirect_stdout(sys.stderr):  # stdout is for the answer alone, whatever a module prints
            return importlib.import_module(name)
    except JobsError:
        raise
    except ModuleNotFoundError as missing:
        if missing.name and f"{name}.".startswith(f"{missing.name}."):
            hint = nearest(missing.name.rpartition(".")[2], _siblings(missing.name))
            if missing.name.endswith(".py"):
                hint = f"; write {missing.name.removesuffix('.py')}"
            raise WiringError(f"there is no module {missing.name}, neither in {here} nor installed{hint}") from None
        raise _unimportable(name, missing) from missing
    except (Exception, SystemExit) as error:  # whatever the application's module raises ends its import
        raise _unimportable(name, error) from error


def _siblings(name: str) -> Sequence[str]:
    """What lies beside a module that is not there: the modules of its package, or those of the working directory."""
    package = sys.modules.get(name.rpartition(".")[0])
    places = [os.getcwd()] if package is None else getattr(package, "__path__", [])
    return [module.name for module in iter_modules(places)]


def _unimportable(name: str, error: BaseException) -> WiringError:
    traceback.print_exception(error)  # its author needs to see where
    return WiringError(f"{name} cannot be imported: {type(error).__name__}: {error}")


def _attribute(module: ModuleType, module_name: str, path: str) -> object:
    found: object = module
    for name in path.split("."):
        if not hasattr(found, name):
            raise WiringError(f"{module_name} has no {path}{_what_there_is(name, found)}")
        found = getattr(found, name)
    return found


def _what_there_is(name: str, where: object) -> str:
    """What to add about a name that is not there: the nearest container, or all of them, or the nearest name."""
    kinds = (DynamicContainer, providers.Container)
    names = [each for each in dir(where) if isinstance(getattr_static(where, each, None), kinds)]
    if near := nearest(name, names):
        return near
    return f"; its containers: {', '.join(names)}" if names else nearest(name, dir(where))
