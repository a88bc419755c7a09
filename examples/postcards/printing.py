"""The handlers: what the worker node does with an order.

A job runs at least once, so printing is made so that a second run changes nothing: a card is written beside
its place and moved there, whole. The log of runs only counts, so that a reader can see every run.
"""

import os
import textwrap
import time
from collections.abc import Mapping

from examples.postcards.places import places
from wagoe_jobs import Discard, Failure, Success, handler
from wagoe_jobs.context import JobContext

WIDTH = 46
LINES = 12
PRINTING_SECONDS = 0.01
TYPE = "print-postcard"
MAX_RETRIES = 2
COUNTRIES = frozenset({"NL", "DE", "FR", "PL", "GR", "UA", "JP", "IL", "EG", "IN", "GB"})


@handler(TYPE, max_retries=MAX_RETRIES)
def print_postcard(args: Mapping[str, str], context: JobContext) -> Success | Failure | Discard:
    _note_run(args["order"], context.attempt)
    if args["country"] not in COUNTRIES:
        return Failure(f"no post goes to {args['town']} ({args['country']})", type="no-such-country", retry=False)
    if args["paper"] == "none":
        return Discard("the customer cancelled the order")
    if args["paper"] == "glitter" and context.attempt < 3:
        return Failure("the printer is jammed with glitter", type="paper-jam")
    card = laid_out(args)
    time.sleep(PRINTING_SECONDS)
    return Success({"file": _print(args["order"], card)})


job_handlers = [print_postcard]


def laid_out(args: Mapping[str, str]) -> str:
    """The card's text: the message, a line, the address. Raises ValueError when the message is too long."""
    message = [line for part in args["message"].splitlines() for line in textwrap.wrap(part, WIDTH) or [""]]
    if len(message) > LINES:
        raise ValueError(f"the message takes {len(message)} lines, a card has {LINES}")
    return "\n".join([*message, "-" * WIDTH, args["name"], f"{args['town']}, {args['country']}", ""])


def _print(order: str, card: str) -> str:
    target = places().card(order)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(f".{os.getpid()}-{time.monotonic_ns()}")
    unfinished.write_text(card, encoding="utf-8")
    unfinished.replace(target)
    return str(target)


def _note_run(order: str, attempt: int) -> None:
    log = places().runs
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{order} {attempt}\n")
