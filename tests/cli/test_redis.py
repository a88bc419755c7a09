"""Every command on a redis: the store comes in underneath, and its password is never told."""

from pathlib import Path

import pytest

from tests.cli.conftest import Script, bury, bury_many
from tests.servers import RedisServer
from wagoe_jobs.client import Jobs
from wagoe_jobs.ports import WorkerCard
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import load_settings

SECRET = "hunter2-4711"


def settings(folder: Path, url: str) -> Path:
    file = folder / "redis.toml"
    file.write_text(f'[jobs]\nprovider = "redis"\n[jobs.redis]\nurl = "{url}"\n')
    return file


@pytest.fixture
def on_redis(bare: Script, tmp_path: Path, redis_url: str) -> Script:
    file = settings(tmp_path, redis_url)
    return lambda *arguments: bare(*arguments, "-s", str(file))


def test_jobs_are_found_retried_and_cancelled(on_redis: Script, tmp_path: Path):
    with open_runtime(load_settings(tmp_path / "redis.toml", environ={})) as runtime:
        jobs = Jobs(runtime)
        dead = str(bury(jobs, queue="mail"))
        bury_many(jobs, 450)
        assert runtime.presence is not None
        card = {"host": "h", "pid": 1, "version": "1", "queues": ["default"], "job_types": ["print"], "slots": 1}
        runtime.presence.announce(WorkerCard(name="w1", **card))
    waiting = on_redis("enqueue", "send", '{"to": "ann"}', "--queue", "mail").out.strip()
    listed = on_redis("jobs", "list", "--queue", "mail", "--json").json["jobs"]
    assert [job["id"] for job in listed] == [waiting, dead]
    assert on_redis("jobs", "show", dead[:23], "--json").json["job"]["id"] == dead
    assert on_redis("jobs", "retry", dead, waiting).out == f"{dead}  retried\n{waiting}  not a dead letter (pending)\n"
    assert on_redis("jobs", "cancel", waiting).out == f"{waiting}  cancelled\n"
    told = on_redis("failed", "retry", "--all", "--yes", "--json")
    assert told.json == {"retried": 450, "skipped": 0, "complete": True}
    queues = on_redis("queues", "list")
    assert "nobody polls the queue 'mail', which holds 1 job" in queues.err
    assert [row.split()[0] for row in queues.out.splitlines()] == ["queue", "default", "mail"]
    assert [worker["name"] for worker in on_redis("workers", "--json").json["workers"]] == ["w1"]


def test_a_check_names_the_server_and_its_version(on_redis: Script, redis_url: str):
    told = on_redis("check", "--json")
    assert told.code == 0
    [store] = [check for check in told.json["checks"] if check["check"] == "store"]
    assert store["detail"].startswith(f"{redis_url}: ")
    assert store["detail"].endswith(" answers")


def connections_told(script: Script, *arguments: str) -> tuple[int, str, str]:
    told = script("check", "--json", *arguments)
    [found] = [check for check in told.json["checks"] if check["check"] == "connections"]
    return told.code, found["state"], found["detail"]


def test_a_check_tells_how_many_connections_the_node_uses(on_redis: Script, bare: Script, tmp_path: Path):
    assert connections_told(on_redis) == (0, "ok", "this node uses up to 13 at once")
    more = tmp_path / "more.toml"
    more.write_text('[jobs.workers]\nqueues = ["default", "mail"]\n')
    assert connections_told(bare, "-s", str(tmp_path / "redis.toml"), "-s", str(more))[2].endswith("to 15 at once")


def test_a_server_that_allows_too_few_clients_is_told(bare: Script, tmp_path: Path):
    with RedisServer(settings={"maxclients": 12}) as server:
        told = connections_told(bare, "-s", str(settings(tmp_path, server.url())))
    said = "this node uses up to 13 at once, and the server's maxclients is 12 for all nodes together: raise it"
    assert told == (2, "wrong", said)


def test_no_password_of_a_redis_is_told(bare: Script, tmp_path: Path):
    with RedisServer(password=SECRET) as server:
        address = f"127.0.0.1:{server.port}/0"
        file = settings(tmp_path, f"redis://:{SECRET}@{address}")
        for command in (["check"], ["status"], ["workers"]):
            told = bare(*command, "-s", str(file))
            assert told.code == 0, told
            assert SECRET not in told.out + told.err
        assert f"redis://{address}: " in bare("check", "-s", str(file)).out
        settings(tmp_path, f"redis://:{SECRET}x@{address}")
        told = bare("check", "-s", str(file))
        assert (told.code, SECRET in told.out + told.err) == (3, False)


@pytest.mark.parametrize("command", [["check"], ["jobs", "list"], ["failed", "retry", "--all", "-y"], ["workers"]])
def test_a_redis_that_is_down_exits_3(bare: Script, tmp_path: Path, command: list[str]):
    told = bare(*command, "-s", str(settings(tmp_path, f"redis://:{SECRET}@127.0.0.1:1/0")))
    assert told.code == 3
    assert "redis is unavailable" in told.out + told.err
    assert SECRET not in told.out + told.err
