"""The contract of `wagoe_jobs.ports`, as cases that any store must pass.

An adapter's tests make a `Backend` over an empty store for each case and run it; with pytest:

    @pytest.mark.parametrize("case", contract.cases(), ids=str)
    def test_contract(case, my_backend):
        case.run(my_backend)

Without a test framework, `contract.run(make_backend)` runs them all and tells what failed. `matrix()` shows
which method is tested in which state, and `holes()` which ought to be and is not.
"""

import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from wagoe_jobs.testing import (
    by_claim,
    by_state,
    keys,
    line,
    presence,
    reading,
    reclaiming,
    recurring,
    settling,
    transactions,
    values,
    waking,
)
from wagoe_jobs.testing.backend import Backend
from wagoe_jobs.testing.subjects import ALL, CLAIMED, State
from wagoe_jobs.testing.table import Case, Cell, cases_of

__all__ = ["Backend", "Case", "State", "cases", "holes", "matrix", "run"]

_MODULES = (
    by_state,
    by_claim,
    line,
    reclaiming,
    settling,
    reading,
    values,
    keys,
    recurring,
    presence,
    waking,
    transactions,
)
_WHOLE_STORE = (
    "enqueue enqueue_many schedule enqueue_once claim exchange peek delete cancel size list_queues "
    "process_scheduled next_due reclaim_abandoned find search failed_jobs retry queue_stats job_stats job_history"
)
_BY_CLAIM = "settle exchange ack hand_back renew interrupt"

_KEY = (keys.FREE, keys.TAKEN, keys.EXPIRED)
_SCHEDULE = (recurring.ABSENT, recurring.KEPT, recurring.TICKED)

WANTED: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(_WHOLE_STORE.split(), ALL),
    **{method: CLAIMED for method in _BY_CLAIM.split() if method != "exchange"},
    "enqueue_once": (*ALL, *_KEY),
    **dict.fromkeys(("key.claim", "key.seen", "key.release"), (*_KEY, keys.RELEASED)),
    "key.purge": _KEY,
    **dict.fromkeys(("register", "unregister", "schedules", "mark_tick"), _SCHEDULE),
    "hold": (recurring.FREE, recurring.OWN, recurring.OTHERS, recurring.ENDED),
    **dict.fromkeys(
        ("worker.announce", "worker.beat", "worker.leave", "worker.list"),
        (presence.ABSENT, presence.PRESENT, presence.BEATEN, presence.GONE),
    ),
    "let_go": (recurring.FREE, recurring.OWN, recurring.OTHERS),
    "enqueue_in_tx": (State.UNKNOWN, State.READY, State.IN_FLIGHT, State.COMPLETED),
    "close": (State.READY,),
    "wake_up": (State.READY, State.SCHEDULED, State.HANDED_BACK, State.RECLAIMED, State.RETRYING),
}
"""In which states each method must have a case."""


def cases() -> list[Case]:
    """All of them; each wants a store of its own, empty."""
    return [case for module in _MODULES for case in cases_of(module)]


def holes() -> list[Cell]:
    """Methods and states that ought to have a case and have none."""
    covered = Counter(cell for case in cases() for cell in case.cells)
    return [(method, state) for method, states in WANTED.items() for state in states if not covered[method, state]]


def matrix() -> str:
    """How many cases each method has in each state of a job, a key, a schedule, a worker or the ticker's lease."""
    covered = Counter(cell for case in cases() for cell in case.cells)
    methods = list(dict.fromkeys([*WANTED, *(method for method, _ in covered)]))
    others = list(dict.fromkeys(state for states in WANTED.values() for state in states if state not in ALL))
    return "\n\n".join(_table(covered, methods, states) for states in (list(ALL), others))


def _table(covered: Mapping[Cell, int], methods: Sequence[str], states: Sequence[str]) -> str:
    """One row for each method that meets any of these states, one numbered column for each state."""
    width = max(map(len, methods))
    legend = [f"{number:>{width + 4}} {state}" for number, state in enumerate(states, 1)]
    head = " " * width + "".join(f"{number:>4}" for number, _ in enumerate(states, 1))
    rows = [
        f"{method:<{width}}" + "".join(f"{covered.get((method, state)) or '.':>4}" for state in states)
        for method in methods
        if any((method, state) in covered for state in states)
    ]
    return "\n".join([*legend, head, *rows])


def run(make: Callable[[], AbstractContextManager[Backend]]) -> dict[str, str]:
    """Run every case against a store of its own; the traces of those that failed, by name."""
    failed = {}
    for case in cases():
        try:
            with make() as backend:
                case.run(backend)
        except Exception:  # noqa: BLE001  whatever a case raises is that case's failure
            failed[case.name] = traceback.format_exc()
    return failed
