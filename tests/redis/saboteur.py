"""A dial whose connections fail where a test says: before a command, or after it, with its reply still to come."""

from collections.abc import Callable
from typing import Any

from wagoe_jobs.adapters.redis.dialling import Dial


class Saboteur:
    """Counts the commands of all its connections; `before` and `after` are called with the number of each, from 1.

    What they raise is raised to whoever sends it, or waits for its reply.
    """

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self.sent = 0
        self.before: Callable[[int], None] = _nothing
        self.after: Callable[[int], None] = _nothing

    def __call__(self) -> Any:
        return _Connection(self._dial(), self)


class _Connection:
    def __init__(self, real: Any, saboteur: Saboteur) -> None:
        self._real = real
        self._saboteur = saboteur

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        self._saboteur.sent += 1
        self._saboteur.before(self._saboteur.sent)
        self._real.send_packed_command(command, check_health=check_health)

    def read_response(self) -> Any:
        self._saboteur.after(self._saboteur.sent)
        return self._real.read_response()


def _nothing(number: int) -> None:
    pass
