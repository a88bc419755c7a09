"""Jobs that wait for their time wait in the store: workers may come and go meanwhile."""

from datetime import timedelta

import pytest

from tests.pool.conftest import OpenHouse
from tests.pool.house import Ledger
from tests.pool.test_kill import LEASE, Node
from tests.until import until
from wagoe_jobs.core.job import Status

AHEAD = timedelta(minutes=5)


@pytest.mark.fault(14)
def test_dated_jobs_outlive_the_workers_that_were_there_when_they_were_enqueued(
    open_durable: OpenHouse, ledger: Ledger
) -> None:
    house = open_durable(LEASE)
    warm = house.enqueue("note", {"n": "warm"})
    node = Node(house, ledger, "note", slots=4)
    house.ended(warm)
    dated = [house.enqueue("note", {"n": n}, delay=AHEAD) for n in range(20)]
    assert node.stop() == 0
    assert house.counts() == {Status.COMPLETED: 1, Status.PENDING: 20}
    assert house.queue.size("default") == 0
    house.offset.move(AHEAD)
    with house.pool({"note": lambda args: ledger.note(f"note {args['n']}")}):
        until(lambda: house.counts() == {Status.COMPLETED: 21})
    assert ledger.runs() == {"note warm": 1, **{f"note {n}": 1 for n in range(20)}}
    assert all(house.job(id).repeats == 0 for id in dated)
