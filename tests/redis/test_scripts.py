"""What runs in the server: short whatever there is to do, on a cluster as well, with texts of any kind and length."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from redis import Redis as Client

from tests import noise
from tests.redis.parts import DAY, LINE, Parts, new_job, open_parts
from tests.servers import RedisServer
from wagoe_jobs.adapters import redis
from wagoe_jobs.adapters.redis import scripts
from wagoe_jobs.core import codec
from wagoe_jobs.core.job import ErrorInfo, Priority, Status, make_job, to_micros
from wagoe_jobs.errors import BackendUnavailable, InvalidJob, SettingsError
from wagoe_jobs.ports import Answer, Claim, Settlement

LONGEST_US = 100_000
HOUR = timedelta(hours=1)
LUA = Path(scripts.__file__).parent / "lua"


@contextmanager
def longest_script(client: Client) -> Iterator[list[int]]:
    """A list that gets, at the end, the microseconds of the longest script that ran meanwhile."""
    longest: list[int] = []
    client.config_set("slowlog-log-slower-than", 1_000)
    client.config_set("slowlog-max-len", 10_000)
    client.slowlog_reset()
    yield longest
    entries: Any = client.slowlog_get(10_000)
    longest.append(max((entry["duration"] for entry in entries if b"EVAL" in _bytes(entry["command"])), default=0))
    client.config_set("slowlog-log-slower-than", 10_000)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


@noise.noisy
@pytest.mark.fault(12)
def test_twenty_thousand_claims_of_a_dead_worker_come_back_in_short_steps(parts: Parts) -> None:
    ids = set[str]()
    with longest_script(parts.client) as longest:
        for _ in range(2):
            bulk = [new_job() for _ in range(10_000)]
            assert all(parts.queue.enqueue_many(bulk))
            ids |= {str(job.id) for job in bulk}
        while parts.queue.claim(LINE, "ann", 500):
            pass
        parts.clock_offset.move(HOUR)
        back = Counter[str]()
        while batch := parts.queue.reclaim_abandoned():
            assert len(batch) <= 500
            back.update(one.id for one in batch)
    assert back == Counter(ids)
    assert longest[0] < LONGEST_US


@noise.noisy
def test_a_large_history_ends_in_short_steps(parts: Parts) -> None:
    parts.queue.enqueue_many([new_job() for _ in range(10_000)])
    settlements: list[Settlement] = []
    while True:
        _, claims = parts.queue.exchange(settlements, LINE, "ann", 400)
        if not claims:
            break
        settlements = [Settlement(claim, Status.COMPLETED) for claim in claims]
    assert parts.client.zcard(parts.keys.jobs) == 10_000
    parts.clock_offset.move(8 * DAY)
    with longest_script(parts.client) as longest:
        for _ in range(10):
            parts.queue.reclaim_abandoned()
    assert longest[0] < LONGEST_US
    assert parts.client.zcard(parts.keys.jobs) == 0
    assert parts.client.keys(parts.keys.job("*")) == []


@noise.noisy
def test_promotion_of_many_is_short(parts: Parts) -> None:
    parts.queue.enqueue_many([new_job() for _ in range(5_000)], delay=HOUR)
    parts.clock_offset.move(2 * HOUR)
    with longest_script(parts.client) as longest:
        promoted = [parts.queue.process_scheduled() for _ in range(11)]
    assert promoted == [500] * 10 + [0]
    assert longest[0] < LONGEST_US


@noise.noisy
def test_a_claim_of_large_jobs_ends_before_it_takes_long(parts: Parts) -> None:
    parts.queue.enqueue_many([_large(900_000) for _ in range(20)])
    taken = list[int]()
    with longest_script(parts.client) as longest:
        while claims := parts.queue.claim(LINE, "ann", 100):
            taken.append(len(claims))
    assert sum(taken) == 20
    assert max(taken) <= 5
    assert longest[0] < LONGEST_US


def _large(characters: int, letter: str = "x") -> Any:
    return make_job("greet", {"x": letter * characters}, id=new_job().id, now=new_job().created_at, queue=LINE)


@pytest.mark.fault(60)
@pytest.mark.parametrize("prefix", ["{wagoe}:", "app:{jobs}:"])
def test_a_whole_life_on_a_node_of_a_cluster(prefix: str) -> None:
    with (
        RedisServer(persistent=False, cluster=True) as server,
        server.client() as client,
        closing(redis.open_redis(client, prefix=prefix)) as opened,
        closing(redis.job_queue(opened)) as queue,
    ):
        jobs = [new_job(priority=priority) for priority in Priority for _ in range(200)]
        assert list(queue.enqueue_many(jobs)) == [True] * 800
        assert queue.enqueue(jobs[0]) is False
        queue.enqueue_once("scope", "key", new_job(queue="elsewhere"), HOUR, delay=HOUR)
        order = list[str]()
        settlements: list[Settlement] = []
        while True:
            answers, claims = queue.exchange(settlements, LINE, "ann", 300)
            assert set(answers) <= {Answer.APPLIED}
            if not claims:
                break
            order += [claim.id for claim in claims]
            settlements = [Settlement(claim, Status.COMPLETED) for claim in claims]
        assert order == [str(job.id) for job in jobs]
        assert len(redis.job_store(opened).search(limit=1_000).jobs) == 801
        with queue.wake_up(LINE) as place:
            while place.wait(timedelta(0)):
                pass
            queue.enqueue(new_job())
            assert place.wait(HOUR)
        assert {key.decode()[: len(prefix)] for key in client.scan_iter()} == {prefix}


def test_a_node_that_does_not_have_our_keys_is_told_as_such() -> None:
    with RedisServer(persistent=False, cluster=True) as server, server.client() as client:
        slot = redis.Keys().slot
        queue = redis.job_queue(client)
        client.execute_command("CLUSTER DELSLOTS", slot)
        with pytest.raises(BackendUnavailable):
            queue.enqueue(new_job())
        client.execute_command("CLUSTER ADDSLOTS", slot)
        queue.close()


@pytest.mark.parametrize("prefix", ["jobs:", "{}:", "{", "}{"])
def test_a_prefix_without_a_hash_tag_is_refused(redis_url: str, prefix: str) -> None:
    with Client.from_url(redis_url) as client, pytest.raises(SettingsError, match="hash tag"):
        redis.job_queue(client, prefix=prefix)


def test_texts_with_lines_of_their_own_arrive_whole(parts: Parts) -> None:
    """No codec of ours writes them, but another generation may have."""
    first, second = parts.put(), parts.put()
    text = '{"id":\n"1"}\n'
    parts.client.hset(parts.keys.job(str(first.id)), "payload", text)
    claims = parts.queue.claim(LINE, "ann", 2)
    assert [claim.payload for claim in claims] == [text, codec.encode_job(second)]
    results = ['"a\n\nb"', "\n"]
    parts.queue.settle([Settlement(c, Status.COMPLETED, result=r) for c, r in zip(claims, results, strict=True)])
    assert [parts.client.hget(parts.keys.job(c.id), "result") for c in claims] == results


@pytest.mark.parametrize("count", [1, 19, 20, 21, 40, 41])
def test_each_claim_has_the_payload_of_its_job_however_many_there_are(parts: Parts, count: int) -> None:
    jobs = [new_job() for _ in range(count)]
    parts.queue.enqueue_many(jobs)
    claims = parts.queue.claim(LINE, "ann", 100)
    assert [(claim.id, claim.payload) for claim in claims] == [(str(job.id), codec.encode_job(job)) for job in jobs]


@pytest.mark.parametrize("count", [1, 40])
def test_many_and_long_texts_are_settled_each_with_its_own(parts: Parts, count: int) -> None:
    parts.queue.enqueue_many([new_job() for _ in range(count)])
    claims = parts.queue.claim(LINE, "ann", count)
    results = [codec.encode_value(f"{number} " + "é" * (90_000 * (number % 3))) for number in range(count)]
    batch = [Settlement(c, Status.COMPLETED, result=r) for c, r in zip(claims, results, strict=True)]
    assert list(parts.queue.settle(batch)) == [Answer.APPLIED] * count
    assert [parts.client.hget(parts.keys.job(c.id), "result") for c in claims] == results


def test_every_text_of_a_settlement_reaches_its_field(parts: Parts) -> None:
    parts.queue.enqueue_many([new_job(max_retries=5) for _ in range(4)])
    claims = parts.queue.claim(LINE, "ann", 4)
    error = codec.encode_error(codec.decode_error(codec.encode_error(_error())))
    parts.queue.settle(
        [
            Settlement(claims[0], Status.COMPLETED, payload="p0", result="r0"),
            Settlement(claims[1], Status.RETRYING, payload="p1", error=error, delay=HOUR),
            Settlement(claims[2], Status.FAILED, error="e2"),
            Settlement(claims[3], Status.FAILED, result="r3", error="e3"),
        ]
    )
    found = [parts.client.hmget(parts.keys.job(claim.id), "payload", "result", "error") for claim in claims]
    assert found == [
        ["p0", "r0", None],
        ["p1", None, error],
        [claims[2].payload, None, "e2"],
        [claims[3].payload, "r3", "e3"],
    ]


def _error() -> Any:

    return ErrorInfo(type="handler-error", message="it broke")


def test_a_server_that_takes_only_short_texts_refuses_a_long_one_alone() -> None:
    with (
        RedisServer(persistent=False, settings={"proto-max-bulk-len": "1mb"}) as server,
        open_parts(server.url()) as parts,
    ):
        with pytest.raises(InvalidJob, match="proto-max-bulk-len"):
            parts.queue.enqueue(_large(600_000, "é"))
        with pytest.raises(InvalidJob, match="proto-max-bulk-len"):
            parts.queue.enqueue_many([new_job(), _large(600_000, "é")])
        assert parts.queue.size(LINE) == 0
        parts.queue.enqueue_many([new_job() for _ in range(3)])
        claims = parts.queue.claim(LINE, "ann", 3)
        batch = [Settlement(claim, Status.COMPLETED) for claim in claims]
        batch[1] = batch[1]._replace(result=codec.encode_value("é" * 600_000))
        assert list(parts.queue.settle(batch)) == [Answer.APPLIED] * 3
        ends = [parts.store.find(UUID(claim.id)) for claim in claims]
        assert [end and end.status.value for end in ends] == ["completed", "failed", "completed"]


def test_more_settlements_than_one_script_takes_are_answered_in_order(parts: Parts) -> None:
    jobs = [new_job() for _ in range(1_200)]
    parts.queue.enqueue_many(jobs)
    claims = [claim for _ in range(3) for claim in parts.queue.claim(LINE, "ann", 400)]
    parts.queue.hand_back([claims[7], claims[1_100]])
    answers, more = parts.queue.exchange([Settlement(c, Status.COMPLETED) for c in claims], LINE, "ann", 10)
    assert [n for n, answer in enumerate(answers) if answer is Answer.LOST] == [7, 1_100]
    assert len(answers) == 1_200
    assert [claim.id for claim in more] == [claims[7].id, claims[1_100].id]


def test_renewal_of_more_claims_than_one_script_takes(parts: Parts) -> None:
    parts.queue.enqueue_many([new_job() for _ in range(1_100)])
    claims = [claim for _ in range(3) for claim in parts.queue.claim(LINE, "ann", 500)]
    parts.queue.ack(claims[1_050])
    holds = parts.queue.renew(claims)
    assert [n for n, claim in enumerate(claims) if holds[claim].value != "held"] == [1_050]


def test_numbers_are_never_rounded(parts: Parts) -> None:
    job = parts.put()
    parts.client.set(parts.keys.seq, 2**52)
    late = parts.put()
    claims: list[Claim] = list(parts.queue.claim(LINE, "ann", 2))
    assert [claim.id for claim in claims] == [str(job.id), str(late.id)]
    assert claims[1].seq == 2**52 + 1
    found = parts.store.find(job.id)
    assert found is not None
    assert found.started_at is not None
    assert to_micros(found.started_at) == claims[0].claimed_us
    assert not any("e+" in value for value in parts.client.hgetall(parts.keys.job(str(job.id))).values())


@pytest.mark.parametrize("path", sorted(LUA.glob("*.lua")), ids=lambda path: path.stem)
def test_each_script_is_short_and_says_what_it_takes(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < 100
    if not path.stem.startswith("shared_"):
        assert all(word in text for word in ("KEYS", "ARGV", "-- Returns"))
