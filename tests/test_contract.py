"""The contract against every backend, one test for each of its cases; the run prints the matrix of what they cover."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

import pytest

from tests.backends import NAMES
from tests.conftest import Backends
from tests.known_differences import KNOWN_DIFFERENCES
from wagoe_jobs import ports
from wagoe_jobs.testing import contract
from wagoe_jobs.testing.contract import Backend, Case

CASES = contract.cases()
PORTS = (
    ports.JobQueue,
    ports.LeasedJobQueue,
    ports.TransactionalJobQueue,
    ports.WakingJobQueue,
    ports.OnceJobQueue,
    ports.JobStore,
    ports.JobStats,
    ports.IdempotencyStore,
    ports.RecurringState,
    ports.WorkerPresence,
)
PREFIXES: dict[type, str] = {ports.IdempotencyStore: "key.", ports.WorkerPresence: "worker."}


class Shown(NamedTuple):
    """Which cases show that a numbered fault of docs/faults.md cannot happen."""

    pattern: str
    faults: tuple[int, ...]


SHOWN = (
    Shown("renew[*", faults=(7,)),
    Shown("a_slow_holder_cannot_touch_what_another_took", faults=(7, 8)),
    Shown("only_the_token_decides_not_the_worker", faults=(8,)),
    Shown("settle_as_*", faults=(8,)),
    Shown("a_late_ack_touches_neither_history_nor_a_newer_claim", faults=(8,)),
    Shown("reclaim_asks_nothing_but_the_claim_itself", faults=(5, 47)),
    Shown("reclaim_is_the_same_whoever_is_listed", faults=(5,)),
    Shown("twenty_thousand_claims_of_a_dead_worker_come_back_each_once", faults=(12,)),
    Shown("many_promote_at_once_and_each_job_once", faults=(13,)),
    Shown("a_due_time_decides_between_ready_and_scheduled", faults=(1,)),
    Shown("a_local_instant_stays_the_same_instant", faults=(55,)),
    Shown("naive_instants_are_refused", faults=(56,)),
    Shown("a_job_is_seen_at_the_commit_and_never_before", faults=(51,)),
    Shown("a_rollback_leaves_nothing", faults=(51,)),
    Shown("arguments_come_back_as_the_types_that_were_given", faults=(65,)),
    Shown("nothing_is_shared_between_enqueuer_handler_and_store", faults=(65,)),
)


def _parameters() -> Iterator[object]:
    for name in NAMES:
        for case in CASES:
            faults = [number for shown in SHOWN if fnmatchcase(case.name, _glob(shown)) for number in shown.faults]
            marks = [pytest.mark.fault(*faults)] if faults else []
            yield pytest.param(name, case, id=f"{name}-{case.name}", marks=marks)


def _glob(shown: Shown) -> str:
    return shown.pattern.replace("[", "[[]")


@pytest.mark.parametrize(("name", "case"), list(_parameters()))
def test_contract(name: str, case: Case, open_backend: Backends) -> None:
    with open_backend(name) as backend:
        reason = KNOWN_DIFFERENCES.get((name, case.name))
        if reason is None:
            case.run(backend)
        else:
            assert _differs(case, backend), f"no longer a difference: {reason}"


def _differs(case: Case, backend: Backend) -> bool:
    try:
        case.run(backend)
    except AssertionError:
        return True
    return False


def test_every_method_has_a_case_in_every_state() -> None:
    assert contract.holes() == []


def test_no_method_of_a_port_is_left_out() -> None:
    methods = {
        PREFIXES.get(port, "") + name
        for port in PORTS
        for name in vars(port)
        if not name.startswith("_") and callable(getattr(port, name))
    }
    assert sorted(methods - set(contract.WANTED)) == []


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))


def test_differences_and_faults_name_cases_that_exist() -> None:
    names = {case.name for case in CASES}
    assert {case for _, case in KNOWN_DIFFERENCES} <= names
    assert {backend for backend, _ in KNOWN_DIFFERENCES} <= set(NAMES)
    assert [shown for shown in SHOWN if not any(fnmatchcase(name, _glob(shown)) for name in names)] == []


def test_a_hole_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [case for case in CASES if ("cancel", contract.State.BURIED) not in case.cells]
    monkeypatch.setattr(contract, "cases", lambda: kept)
    assert contract.holes() == [("cancel", contract.State.BURIED)]


def test_the_runner_needs_no_framework(open_backend: Backends) -> None:
    failed = contract.run(lambda: open_backend("memory"))
    assert sorted(failed) == sorted(case for name, case in KNOWN_DIFFERENCES if name == "memory")
