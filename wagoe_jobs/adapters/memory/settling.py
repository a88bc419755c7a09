"""How a settlement changes a row: history, or a follow-up, and the release, in one step under the lock.

What needs the text itself, its check and the repeats that a follow-up leaves, is done before the lock is taken.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from wagoe_jobs.adapters.memory.line import Row
from wagoe_jobs.adapters.memory.state import MemoryState
from wagoe_jobs.core import codec
from wagoe_jobs.core.job import ErrorInfo, Status
from wagoe_jobs.core.outcome import REFUSED
from wagoe_jobs.core.stored import budget_of
from wagoe_jobs.ports import Answer, Settlement

_US = timedelta(microseconds=1)


class Prepared(NamedTuple):
    """A settlement that was looked at: `refusal` is an encoded error, `budget` that of its new text."""

    settlement: Settlement
    refusal: str | None
    budget: int | None


def prepare(settlements: Iterable[Settlement]) -> list[Prepared]:
    return [
        Prepared(each, _refusal(each), None if each.payload is None else budget_of(each.payload))
        for each in settlements
    ]


def apply(state: MemoryState, prepared: Prepared) -> Answer:
    """Settle one claim; to be called with the lock held."""
    settlement = prepared.settlement
    claim = settlement.claim
    row = state.rows.get(claim.id)
    if row is None:
        return Answer.LOST
    if row.token != claim.token:
        return Answer.ALREADY if row.settled == claim.token else Answer.LOST
    now = state.now_us()
    row.settled = claim.token
    row.started_us = claim.claimed_us + settlement.waited_us
    row.ran_us = settlement.ran_us
    _write(state, row, prepared, now)
    return Answer.APPLIED


def _write(state: MemoryState, row: Row, prepared: Prepared, now_us: int) -> None:
    settlement, status = prepared.settlement, prepared.settlement.status
    if prepared.refusal is not None:
        row.error = prepared.refusal
        state.end(row, Status.FAILED, now_us)
        return
    if settlement.payload is not None:
        row.payload = settlement.payload
        row.error = None  # the new text tells it
    if settlement.error is not None:
        row.error = settlement.error
    if prepared.budget is not None:
        row.budget = prepared.budget
    if row.cancel_requested and status is not Status.COMPLETED:
        state.end(row, Status.CANCELLED, now_us)
    elif status.terminal:
        row.result = settlement.result
        state.end(row, status, now_us)
    else:
        _follow_up(state, row, settlement, now_us)


def _follow_up(state: MemoryState, row: Row, settlement: Settlement, now_us: int) -> None:
    state.release(row)
    row.status = settlement.status
    row.updated_us = now_us
    row.due_us = now_us + (settlement.delay or timedelta(0)) // _US
    state.arrive(row, now_us)
    state.tell([row.queue])


def _refusal(settlement: Settlement) -> str | None:
    """Why no durable store would take this text, None when it would: this one is no laxer than they are."""
    for name in ("payload", "result", "error"):
        text = getattr(settlement, name)
        reason = None if text is None else _fault(text)
        if reason is not None:
            return codec.encode_error(ErrorInfo(type=REFUSED, message=f"the {name} {reason}"))
    return None


def _fault(text: str) -> str | None:
    if len(text) > codec.FOLLOW_UP_LIMIT:
        return f"has {len(text):,} characters, the limit is {codec.FOLLOW_UP_LIMIT:,}"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half a surrogate pair, which is not text"
    return None
