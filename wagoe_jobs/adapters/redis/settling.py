"""Settlements as the scripts take them: one line each, and their texts after them.

What no durable store would take as text is not sent: the claim is settled as failed, with the reason.
"""

from collections.abc import Sequence
from datetime import timedelta

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.errors import RefusedData
from wagoe_jobs.adapters.redis.sizes import checked_size
from wagoe_jobs.core.codec import FOLLOW_UP_LIMIT, encode_error
from wagoe_jobs.core.job import ErrorInfo, Status
from wagoe_jobs.core.outcome import REFUSED
from wagoe_jobs.core.stored import budget_of
from wagoe_jobs.ports import Answer, Settlement

SETTLEMENTS = 500
"""How many one run of a script settles, and how many characters of them before another one begins."""
CHARACTERS = 2_000_000
LARGE = 250_000
"""Characters of one text, or of several joined, that every server takes whatever they are."""
_US = timedelta(microseconds=1)
_STATUS = {status: str(status) for status in Status}
ANSWERS = {"a": Answer.APPLIED, "y": Answer.ALREADY, "l": Answer.LOST}


def answers_of(letters: str) -> list[Answer]:
    return [ANSWERS[letter] for letter in letters]


def batches(settlements: Sequence[Settlement], redis: Redis) -> list[list[Settlement]]:
    """The settlements in order, as many in each as one run of a script may take; at least one batch."""
    done: list[list[Settlement]] = [[]]
    size = 0
    for each in settlements:
        if each.result is not None or each.error is not None or each.payload is not None:
            length = len(each.payload or "") + len(each.result or "") + len(each.error or "")
            size += length
            each = buried(each, redis) if length > LARGE else each
        if done[-1] and (len(done[-1]) == SETTLEMENTS or size > CHARACTERS):
            done.append([])
            size = 0
        done[-1].append(each)
    return done


def words(settlements: Sequence[Settlement]) -> list[str]:
    """The arguments of `settle` in lua/shared_settle.lua."""
    rows: list[str] = []
    texts: list[str] = []
    for claim, status, delay, payload, result, error, waited_us, ran_us in settlements:
        which, rest = "-", ""
        if payload is not None or result is not None or error is not None:
            given = [
                (letter, text) for letter, text in zip("pre", (payload, result, error), strict=True) if text is not None
            ]
            which = "".join(letter for letter, _ in given)
            texts += [text for _, text in given]
        if not status.terminal:
            rest = _follow_up(delay, payload)
        rows.append(f"{claim.id} {claim.token} {which} {_STATUS[status]} {claim.claimed_us + waited_us} {ran_us}{rest}")
    return ["\n".join(rows), *_texts(texts)]


def buried(settlement: Settlement, redis: Redis) -> Settlement:
    """The same, or what is stored instead when one of its texts cannot be."""
    for name in ("payload", "result", "error"):
        text = getattr(settlement, name)
        reason = None if text is None else _fault(text, redis)
        if reason is not None:
            error = encode_error(ErrorInfo(type=REFUSED, message=f"the {name} {reason}"))
            return Settlement(
                settlement.claim,
                Status.FAILED,
                error=error,
                waited_us=settlement.waited_us,
                ran_us=settlement.ran_us,
            )
    return settlement


def _fault(text: str, redis: Redis) -> str | None:
    if len(text) > FOLLOW_UP_LIMIT:
        return f"has {len(text):,} characters, the limit is {FOLLOW_UP_LIMIT:,}"
    try:
        text.encode()
        checked_size(redis, [text])
    except UnicodeEncodeError:
        return "holds half a surrogate pair, which is not text"
    except RefusedData as exc:
        return exc.reason
    return None


def _texts(texts: Sequence[str]) -> list[str]:
    """As lines of one argument where that is what they are and it stays short, else one argument each."""
    joined = "\n".join(texts)
    if len(joined) <= LARGE and joined.count("\n") == max(0, len(texts) - 1):
        return ["lines", joined]
    return ["apart", *texts]


def _follow_up(delay: timedelta | None, payload: str | None) -> str:
    budget = None if payload is None else budget_of(payload)
    return f" {0 if delay is None else delay // _US} {'-' if budget is None else budget}"
