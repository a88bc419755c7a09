"""Settings that name sentinels: the primary is found through them, and found again after a fail-over."""

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tests.servers import RedisServer, Server
from tests.until import until
from wagoe_jobs.clock import Clock, Ids
from wagoe_jobs.core.job import Job, make_job
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import JobQueue
from wagoe_jobs.runtime import open_runtime

SERVICE = "jobs"
PASSWORD = "of-the-sentinels"


class SentinelServer(Server):
    """A sentinel with a password of its own, which decides alone: half a second of silence is enough."""

    package = "redis-server"
    user = "redis"
    polite = signal.SIGTERM
    abrupt = signal.SIGKILL

    def __init__(self, primary: RedisServer) -> None:
        super().__init__()
        self._primary = primary

    def prepare(self) -> None:
        lines = [
            f"port {self.port}",
            "bind 127.0.0.1",
            f"dir {self.folder}",
            f"requirepass {PASSWORD}",
            f"sentinel monitor {SERVICE} 127.0.0.1 {self._primary.port} 1",
            f"sentinel down-after-milliseconds {SERVICE} 500",
            f"sentinel failover-timeout {SERVICE} 5000",
        ]
        self._settings.write_text("\n".join(lines))
        self._settings.chmod(0o666)  # it writes down there what it learns

    def command(self) -> Sequence[str | Path]:
        return [self.binary("redis-server", "usr/bin"), self._settings, "--sentinel"]

    def answers(self) -> bool:
        """Whether it knows the replica, without which there is nobody to take over."""
        try:
            with Redis(port=self.port, password=PASSWORD, decode_responses=True) as client:
                return bool(client.execute_command("SENTINEL REPLICAS", SERVICE))
        except RedisError:
            return False

    @property
    def _settings(self) -> Path:
        return self.folder / "sentinel.conf"


@pytest.fixture
def primary() -> Iterator[RedisServer]:
    with RedisServer(settings={"repl-diskless-sync-delay": 0}) as server:
        yield server


@pytest.fixture
def replica(primary: RedisServer) -> Iterator[RedisServer]:
    with RedisServer(settings={"replicaof": f"127.0.0.1 {primary.port}"}) as server:
        yield server


@pytest.fixture
def sentinel(primary: RedisServer, replica: RedisServer) -> Iterator[SentinelServer]:
    with SentinelServer(primary) as server:
        yield server


@pytest.mark.fault(59)
def test_a_fail_over_is_followed(primary: RedisServer, sentinel: SentinelServer) -> None:
    sentinels = {"service": SERVICE, "nodes": [f"127.0.0.1:{sentinel.port}"], "password": PASSWORD}
    ids = Ids()
    jobs = [make_job("greet", {}, id=ids.new(), now=Clock().now()) for _ in range(2)]
    with open_runtime({"provider": "redis", "redis": {"sentinel": sentinels, "timeout_ms": 2_000}}) as runtime:
        assert runtime.queue.enqueue(jobs[0])
        until(lambda: _replicated(primary), within=30, otherwise="the replica does not follow")
        primary.kill()
        with pytest.raises(BackendUnavailable):
            runtime.queue.enqueue(jobs[1])
        until(lambda: _enqueued(runtime.queue, jobs[1]), within=30, otherwise="nobody took over")
        assert runtime.queue.size("default") == 2


def _replicated(primary: RedisServer) -> bool:
    """Whether the replica has all that was written: what this connection wrote last, and so what came before it."""
    with primary.client() as client:
        client.set("mark", 1)
        return bool(client.wait(1, 1_000))


def _enqueued(queue: JobQueue, job: Job) -> bool:
    try:
        queue.enqueue(job)
    except BackendUnavailable:
        return False
    return True
