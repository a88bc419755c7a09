"""Waiting in tests: for what must come true, never for a time in which it probably did."""

import time
from collections.abc import Callable
from typing import Any


def until(holds: Callable[[], object], within: float = 20.0, otherwise: str = "it did not come true in time") -> Any:
    """Wait until `holds()` is true, and return it; fails with `otherwise` when that takes more seconds."""
    deadline, pause = time.monotonic() + within, 0.001
    while not (value := holds()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(pause)
        pause = min(0.03, pause * 1.2)
    return value
