"""Resources that keep to their order: opened once, and after their stop only by a boot."""

from threading import RLock
from typing import Any, Protocol, runtime_checkable

from dependency_injector import providers

from wagoe_jobs.errors import WiringError


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
        with self._opening:  # waits for an opening in another thread, so that a cancelled boot leaves nothing open
            self._stopped = self._stopped or self.initialized
        return super().shutdown()  # without the lock: it may wait for a handler that asks for this very resource


@runtime_checkable
class Stoppable(Protocol):
    """What can be told of its stop before somebody waits for it."""

    def begin_stop(self) -> None: ...


class Consuming(Opened):
    """What runs handlers, which may use anything: it starts last and stops first."""

    def begin_stop(self) -> None:
        """Let it begin to stop, where it is open and can be told: `shutdown` then waits for what is left of that."""
        opened = self() if self.initialized else None
        if isinstance(opened, Stoppable):
            opened.begin_stop()


def _label(provider: Any) -> str:
    return getattr(provider.provides, "__name__", str(provider)).strip("_")
