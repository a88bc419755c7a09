"""The connections of one store: who opens them, and that none outlives its owner."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from redis import Redis as Client

from tests.redis.parts import new_job
from tests.until import until
from wagoe_jobs.adapters import redis

CALLERS = 40


def ours(client: Any) -> list[str]:
    """The ids of the server's other clients that are in our database."""
    number = str(client.connection_pool.connection_kwargs.get("db", 0))
    mine = str(client.client_id())
    return [one["id"] for one in client.client_list() if one["db"] == number and one["id"] != mine]


def test_no_connection_outlives_a_store_that_is_closed_while_in_use(redis_url: str) -> None:
    with closing(Client.from_url(redis_url, decode_responses=True)) as client, ThreadPoolExecutor(CALLERS) as callers:
        server = redis.open_redis(client)
        queue = redis.job_queue(server)
        begun = threading.Barrier(CALLERS + 1)

        def call() -> bool:
            begun.wait()
            return queue.enqueue_many([new_job() for _ in range(20)]) == [True] * 20

        calls = [callers.submit(call) for _ in range(CALLERS)]
        begun.wait()
        server.close()
        assert all(call.result() for call in calls)
        queue.close()
        until(lambda: not ours(client))
