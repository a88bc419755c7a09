"""Schedules, their ticks, and the lease of the one ticker."""

from datetime import timedelta

from wagoe_jobs.ports import Schedule
from wagoe_jobs.testing.backend import HOUR, SECOND, Backend
from wagoe_jobs.testing.table import covers

DAILY = Schedule("report", "0 2 * * * Europe/Amsterdam", "default", 2, "[]")
TICK = 1_700_000_000_000_000
ABSENT, KEPT, TICKED = "no schedule", "a schedule", "a schedule that ticked"
FREE, OWN, OTHERS, ENDED = "free lease", "own lease", "another's lease", "ended lease"


@covers("register", ABSENT)
@covers("schedules", ABSENT, KEPT)
@covers("unregister", ABSENT, KEPT)
def case_a_schedule_is_kept_by_its_type(backend: Backend) -> None:
    state, other = backend.recurring, backend.second().recurring
    assert list(state.schedules()) == []
    stored = state.register(DAILY)
    assert stored.first_seen_us > 0
    assert stored == DAILY._replace(first_seen_us=stored.first_seen_us)
    also = state.register(DAILY._replace(type="a-report"))
    assert list(other.schedules()) == [also, stored]
    assert (other.unregister("report"), other.unregister("report")) == (True, False)
    assert list(state.schedules()) == [also]


@covers("register", KEPT, TICKED)
@covers("schedules", TICKED)
def case_the_same_text_again_resets_no_instant(backend: Backend) -> None:
    state = backend.recurring
    first = state.register(DAILY)
    assert state.mark_tick("report", TICK)
    backend.advance(HOUR)
    again = state.register(DAILY._replace(queue="other", rank=0))
    assert again == first._replace(queue="other", rank=0, last_tick_us=TICK)
    assert list(state.schedules()) == [again]


@covers("register", KEPT)
def case_another_text_is_seen_anew(backend: Backend) -> None:
    state = backend.recurring
    first = state.register(DAILY)
    backend.advance(HOUR)
    changed = state.register(DAILY._replace(text="0 3 * * * UTC"))
    assert changed.text == "0 3 * * * UTC"
    assert HOUR <= timedelta(microseconds=changed.first_seen_us - first.first_seen_us) < 2 * HOUR


@covers("mark_tick", ABSENT, KEPT, TICKED)
@covers("unregister", TICKED)
def case_a_tick_is_marked_once_and_never_backwards(backend: Backend) -> None:
    state, other = backend.recurring, backend.second().recurring
    assert state.mark_tick("report", TICK) is False
    state.register(DAILY)
    assert state.mark_tick("report", TICK) is True
    assert (other.mark_tick("report", TICK), other.mark_tick("report", TICK - 1)) == (False, False)
    assert other.mark_tick("report", TICK + 1) is True
    assert [each.last_tick_us for each in state.schedules()] == [TICK + 1]
    assert state.unregister("report") is True
    assert other.mark_tick("report", TICK + 2) is False


@covers("hold", FREE, OWN, OTHERS, ENDED)
def case_one_ticker_holds_the_lease_until_it_ends(backend: Backend) -> None:
    state, other = backend.recurring, backend.second().recurring
    assert state.hold("ann", HOUR) is True
    assert other.hold("bob", HOUR) is False
    backend.advance(HOUR - SECOND)
    assert state.hold("ann", HOUR) is True
    backend.advance(HOUR - SECOND)
    assert other.hold("bob", HOUR) is False
    backend.advance(2 * SECOND)
    assert other.hold("bob", HOUR) is True
    assert state.hold("ann", HOUR) is False


@covers("let_go", FREE, OWN, OTHERS)
@covers("hold", FREE)
def case_the_lease_can_be_let_go_by_its_holder_alone(backend: Backend) -> None:
    state, other = backend.recurring, backend.second().recurring
    assert state.let_go("ann") is False
    state.hold("ann", HOUR)
    assert other.let_go("bob") is False
    assert state.let_go("ann") is True
    assert other.hold("bob", HOUR) is True
