"""Kill workers and the store over and over, and count.

    python -m tests.chaos [--store sqlite|postgres|mariadb|redis] [--seed N] [--handler-ms N]
                          [--jobs N] [--kills N] [--freezes N] [--outages N] [--cuts N]

Without --store, each durable store in turn. Prints a line an attack, with its seed; exits 1 if a promise broke.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos.attack import Plan, Verdict, attack
from tests.chaos.stores import STORES, opened


def main() -> int:
    options = _options()
    plan = Plan(**{name: value for name, value in vars(options).items() if name != "store"})
    verdicts = [_attacked(store, plan) for store in ([options.store] if options.store else STORES)]
    return 0 if all(verdict.holds for verdict in verdicts) else 1


def _attacked(store: str, plan: Plan) -> Verdict:
    with tempfile.TemporaryDirectory() as name, opened(store, Path(name)) as (url, server):
        verdict = attack(url, Path(name), plan, server)
    print(
        f"{'holds' if verdict.holds else 'BROKEN'}: {store}, seed {plan.seed}: {plan.jobs:,} jobs, {plan.kills} kills, "
        f"{plan.freezes} freezes, {plan.outages if server else 0} outages, {plan.cuts if server else 0} cuts: "
        f"{verdict.lost} lost, {verdict.unfinished} unfinished, "
        f"{dict(verdict.ends)}, {verdict.extra_runs} extra runs (at most {plan.extra_runs_allowed:,}), "
        f"{verdict.seconds:.0f} s",
        flush=True,
    )
    return verdict


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=STORES)
    for name in ("seed", "jobs", "kills", "freezes", "outages", "cuts", "handler_ms"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(Plan(), name))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
