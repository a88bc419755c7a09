"""From settings, or a client that the application lends, to a runtime over redis; and what is refused on the way."""

import logging
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
import redis
import redis.asyncio
from redis.cluster import ClusterNode

from tests.servers import RedisServer, free_port
from tests.wiring.parts import system
from wagoe_jobs import handler
from wagoe_jobs.adapters.redis import Redis, addresses, server_info
from wagoe_jobs.adapters.redis.dialling import Direct, dial_of
from wagoe_jobs.adapters.redis.queue import RedisJobQueue
from wagoe_jobs.clock import Clock, Ids
from wagoe_jobs.core.job import make_job
from wagoe_jobs.errors import BackendUnavailable, SettingsError, WiringError
from wagoe_jobs.node import running
from wagoe_jobs.ports import Runtime, WakingJobQueue, WorkerPresence
from wagoe_jobs.runtime import open_runtime

PASSWORD = "p#ss w@rd/4711"


@pytest.fixture(scope="module")
def guarded() -> Iterator[RedisServer]:
    """A server with TLS and a password, and nothing on disk."""
    with RedisServer(tls=True, password=PASSWORD, persistent=False) as server:
        yield server


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisServer]:
    with RedisServer(cluster=True) as server:
        yield server


def works(runtime: Runtime) -> bool:
    """Whether a job goes through it to its end."""
    job = make_job("greet", {}, id=Ids().new(), now=Clock().now())
    assert runtime.queue.enqueue(job)
    [claim] = runtime.queue.claim("default", "ann", 1)
    found = runtime.store.find(job.id)
    return runtime.queue.ack(claim) and found is not None and runtime.stats.job_stats().succeeded == 1


def test_a_runtime_has_every_part(redis_url: str) -> None:
    with open_runtime({"provider": "redis", "redis": {"url": redis_url}}) as runtime:
        assert works(runtime)
        assert runtime.provider == "redis"
        assert runtime.idempotency is not None
        assert runtime.recurring is not None
        assert isinstance(runtime.presence, WorkerPresence)


def test_the_parts_of_an_address_do_as_well(redis_server: RedisServer, redis_url: str) -> None:
    where = {"host": "127.0.0.1", "port": redis_server.port, "db": int(redis_url.rpartition("/")[2])}
    with open_runtime({"provider": "redis", "redis": where}) as runtime:
        assert works(runtime)
    with open_runtime({"provider": "redis", "redis": {"url": redis_url}}) as runtime:
        assert runtime.stats.job_stats().succeeded == 1


def test_prefixes_keep_systems_apart(redis_url: str) -> None:
    for prefix in ("{shop}:", "{office}:"):
        with open_runtime({"provider": "redis", "redis": {"url": redis_url, "prefix": prefix}}) as runtime:
            assert works(runtime)
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        keys = client.keys()
    assert {key.partition(":")[0] for key in keys} == {"{shop}", "{office}"}  # type: ignore[union-attr]


def test_tls_and_a_password(guarded: RedisServer) -> None:
    with open_runtime({"provider": "redis", "redis": {"url": guarded.url(), "prefix": "{url}:"}}) as runtime:
        assert works(runtime)


def test_a_wrong_password_is_told_without_it(guarded: RedisServer) -> None:
    wrong = "n0t-the-0ne"
    url = guarded.url().replace("p%23ss", wrong)
    with pytest.raises(BackendUnavailable) as caught, open_runtime({"provider": "redis", "redis": {"url": url}}):
        pytest.fail("opened")
    assert wrong not in repr(caught.value) + str(caught.value)
    assert "redis is unavailable" in str(caught.value)


@pytest.mark.fault(60)
def test_a_node_of_a_cluster_leads_to_the_one_that_has_our_keys(cluster: RedisServer) -> None:
    cluster.wipe()
    where = {"host": "127.0.0.1", "port": cluster.port, "cluster": True}
    with open_runtime({"provider": "redis", "redis": where}) as runtime:
        assert works(runtime)


def test_a_server_that_is_not_there_is_told_at_once() -> None:
    where = {"host": "127.0.0.1", "port": free_port()}
    with pytest.raises(BackendUnavailable), open_runtime({"provider": "redis", "redis": where}):
        pytest.fail("opened")


def test_no_sentinel_that_answers_is_told() -> None:
    sentinels = {"service": "jobs", "nodes": [f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"]}
    with (
        pytest.raises(BackendUnavailable, match="'jobs'") as told,
        open_runtime({"provider": "redis", "redis": {"sentinel": sentinels}}),
    ):
        pytest.fail("opened")
    assert "<" not in told.value.reason


@pytest.mark.parametrize("cluster", [False, True])
def test_no_repr_tells_a_password(cluster: bool) -> None:
    dial = addresses.dial_url("redis://ann:hush@127.0.0.1", 1, timeout=timedelta(seconds=1), cluster=cluster)
    lent = dial_of(redis.Redis(password="hush"), 1)
    assert "hush" not in repr((dial, lent))


def test_a_lent_client_that_waits_for_ever_lends_no_such_patience() -> None:
    dial = dial_of(redis.Redis(socket_timeout=None, socket_connect_timeout=None), 1)
    assert isinstance(dial, Direct)
    assert (dial.options["socket_timeout"], dial.options["socket_connect_timeout"]) == (10, 10)
    quick = dial_of(redis.Redis(socket_timeout=0.5), 1)
    assert isinstance(quick, Direct)
    assert quick.options["socket_timeout"] == 0.5


@pytest.mark.parametrize("option", ["decode_responses=yes", "max_connections=1", "hunter2=4711"])
def test_an_option_of_a_url_that_means_nothing_here_is_refused(redis_url: str, option: str) -> None:
    given = {"provider": "redis", "redis": {"url": f"{redis_url}?{option}"}}
    with pytest.raises(SettingsError, match=option.partition("=")[0]) as caught, open_runtime(given):
        pytest.fail("opened")
    assert (caught.value.path, "4711" in caught.value.reason) == ("jobs.redis.url", False)


def test_a_lent_client_is_left_open(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        with open_runtime({"provider": "redis"}, redis_client=client) as runtime:
            assert works(runtime)
        assert client.ping()


def test_a_lent_client_of_a_cluster(cluster: RedisServer) -> None:
    cluster.wipe()
    with redis.RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", cluster.port)]) as client:
        with open_runtime({"provider": "redis"}, redis_client=client) as runtime:
            assert works(runtime)
        assert client.ping()


@pytest.mark.fault(61)
def test_no_more_connections_than_a_lent_client_allows(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url, max_connections=3) as client:
        with (
            pytest.raises(SettingsError, match=r"jobs\.redis: the client's pool allows 3 connections.* needs 6"),
            open_runtime({"provider": "redis", "workers": {"queues": ["a", "b"]}}, redis_client=client),
        ):
            pytest.fail("opened")
        with open_runtime({"provider": "redis", "workers": {"count": 0}}, redis_client=client) as runtime:
            assert works(runtime)


@pytest.mark.parametrize("redis_settings", [{"url": "redis://r"}, {"host": "r"}, {"port": 1}])
def test_an_address_beside_a_lent_client_is_refused(redis_settings: dict[str, object]) -> None:
    with (
        redis.Redis() as client,
        pytest.raises(SettingsError, match=r"jobs\.redis: .* give one of them"),
        open_runtime({"provider": "redis", "redis": redis_settings}, redis_client=client),
    ):
        pytest.fail("opened")


@pytest.mark.parametrize(
    ("lent", "told"), [(redis.asyncio.Redis(), "redis.asyncio client: pass a redis.Redis"), (object(), "not object")]
)
def test_what_is_no_client_that_blocks_is_refused(lent: object, told: str) -> None:
    with pytest.raises(WiringError, match=told), open_runtime({"provider": "redis"}, redis_client=lent):  # type: ignore[arg-type]
        pytest.fail("opened")


def test_a_server_that_may_lose_jobs_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    with RedisServer(persistent=False, settings={"maxmemory-policy": "allkeys-lru"}) as server:
        caplog.set_level(logging.INFO, "wagoe_jobs")
        with open_runtime({"provider": "redis", "redis": {"url": server.url()}}) as runtime:
            assert isinstance(runtime.queue, RedisJobQueue)
            version, told, _ = server_info(runtime.queue.redis)
            assert version.startswith(("redis ", "valkey "))
    logged = {record.levelname: record.getMessage() for record in caplog.records}
    assert "maxmemory-policy is allkeys-lru" in logged["WARNING"]
    assert "appendonly is no" in logged["INFO"]
    assert [text in "".join(logged.values()) for text in told] == [True, True]


@pytest.mark.parametrize("version", ["5.0.14", "6.0.16", "4.0"])
def test_a_server_that_is_too_old_is_refused(version: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Redis.ask

    def older(self: Redis, *commands: Sequence[str | int]) -> list[object]:
        return [re.sub(r"redis_version:\S+", f"redis_version:{version}", str(each)) for each in ask(self, *commands)]

    monkeypatch.setattr(Redis, "ask", older)
    given = {"provider": "redis", "redis": {"url": redis_url}}
    with pytest.raises(SettingsError, match=rf"jobs\.redis: the server is redis {version}: 6\.2"), open_runtime(given):
        pytest.fail("opened")


def test_a_server_that_keeps_all_is_not_warned_about(redis_url: str, caplog: pytest.LogCaptureFixture) -> None:
    with open_runtime({"provider": "redis", "redis": {"url": redis_url}}):
        pass
    assert caplog.text == ""


def test_history_is_kept_for_seven_days_unless_settings_say_else(redis_url: str) -> None:
    with open_runtime({"provider": "redis", "redis": {"url": redis_url}}) as runtime:
        assert works(runtime)
        assert isinstance(runtime.queue, RedisJobQueue)
        for days, kept in ((6.9, 1), (0.2, 0)):
            runtime.queue.redis.clock_offset.move(timedelta(days=days))
            assert runtime.stats.job_stats().succeeded == kept


@pytest.fixture
def confined(redis_server: RedisServer, redis_url: str) -> Iterator[str]:
    """The address of a user with the rights that the documentation gives it."""
    page = Path(__file__).parents[2] / "docs" / "production.md"
    [rule] = [line for line in page.read_text().splitlines() if line.startswith("ACL SETUSER jobs ")]
    with redis.Redis.from_url(redis_url) as admin:
        admin.execute_command(*rule.split())
        yield f"redis://jobs:password@127.0.0.1:{redis_server.port}/{redis_url.rpartition('/')[2]}"
        admin.acl_deluser("jobs")


def test_a_user_may_be_held_to_these_keys(confined: str) -> None:
    with open_runtime({"provider": "redis", "redis": {"url": confined}}) as runtime:
        assert works(runtime)
        assert isinstance(runtime.queue, WakingJobQueue)
        with runtime.queue.wake_up("quiet") as news:
            assert news.wait(timedelta(milliseconds=20)) is False
    strange = {"provider": "redis", "redis": {"url": confined, "prefix": "{other}:"}}
    with open_runtime(strange) as runtime, pytest.raises(BackendUnavailable, match="NOPERM"):
        runtime.queue.size("default")


@handler("add")
def add(args: dict[str, int]) -> int:
    return args["a"] + args["b"]


def test_a_container_takes_the_applications_client(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        jobs = {"provider": "redis", "workers": {"poll_interval_ms": 10}}
        shop = type("Shop", (), {"job_handlers": [add]})()
        with running(system(shop, jobs=jobs, redis_client=client)) as up:
            done = up.client().wait(up.client().enqueue(add, {"a": 1, "b": 2}), timeout=10)
        assert done.result == 3
        assert client.ping()
