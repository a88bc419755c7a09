"""Finds the container that `-a package.module:container` names; the working directory is importable."""

import importlib
import os
import sys
import traceback
from difflib import get_close_matches
from types import ModuleType

from dependency_injector.containers import Container

from wagoe_jobs.errors import JobsError, WiringError

DEFAULT_NAME = "container"


def container_at(target: str) -> Container:
    """The container; a bare module name means its `container`. Raises WiringError with the nearest name."""
    module_name, _, attribute = target.partition(":")
    attribute = attribute or DEFAULT_NAME
    if not all(part.isidentifier() for part in f"{module_name}.{attribute}".split(".")):
        raise WiringError(f"{target!r} names no container: write package.module:container")
    found = _attribute(_module(module_name), module_name, attribute)
    if not isinstance(found, Container):
        raise WiringError(f"{module_name}:{attribute} is a {type(found).__name__}, not a dependency-injector container")
    return found


def _module(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except JobsError:
        raise
    except ModuleNotFoundError as missing:
        if missing.name and f"{name}.".startswith(f"{missing.name}."):
            raise WiringError(f"there is no module {missing.name}, neither in {here} nor installed") from None
        raise _unimportable(name, missing) from missing
    except Exception as error:  # whatever the application's module raises ends its import
        raise _unimportable(name, error) from error


def _unimportable(name: str, error: Exception) -> WiringError:
    traceback.print_exception(error)  # its author needs to see where
    return WiringError(f"{name} cannot be imported: {type(error).__name__}: {error}")


def _attribute(module: ModuleType, module_name: str, path: str) -> object:
    found: object = module
    for name in path.split("."):
        if not hasattr(found, name):
            near = get_close_matches(name, dir(found), n=1)
            raise WiringError(f"{module_name} has no {path}" + (f": did you mean {near[0]}?" if near else ""))
        found = getattr(found, name)
    return found
