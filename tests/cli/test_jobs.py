"""`jobs list`, `jobs show`, `jobs retry`, `jobs cancel`: found by what is asked for, and acted on one by one."""

import re
import shlex
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from tests.cli.conftest import Said, Script, WithJobs, bury, bury_many, on_sqlite
from wagoe_jobs import handler
from wagoe_jobs.client import Jobs
from wagoe_jobs.registry import Registry
from wagoe_jobs.worker import Worker

HOSTILE = "\x1b[2J[red]x[/red] \u202e\nid            00000000-0000-0000-0000-000000000000"


def ids(told: Said) -> list[str]:
    return [job["id"] for job in told.json["jobs"]]


def made(with_jobs: WithJobs, count: int, **options: object) -> list[str]:
    """The ids of new jobs, newest first."""
    return with_jobs(lambda jobs: [str(jobs.enqueue("send", {"n": n}, **options)) for n in range(count)])[::-1]


def test_jobs_are_listed_wherever_they_are_newest_first(script: Script, with_jobs: WithJobs):
    failed, waiting = str(with_jobs(bury)), made(with_jobs, 2)
    assert ids(script("jobs", "list", "--json")) == [*waiting, failed]
    rows = script("jobs", "list").out.splitlines()
    assert [row.split()[0] for row in rows] == ["id", *waiting, failed]
    assert script("jobs").out.splitlines() == rows
    assert ids(script("jobs", "--status", "failed", "--json")) == [failed]
    assert "handler-error: the printer is on fire" in rows[-1]


@on_sqlite
def test_an_exception_is_told_with_its_class(script: Script, with_jobs: WithJobs):
    def act(jobs: Jobs) -> str:
        id = jobs.enqueue("fall", {}, max_retries=0)
        with Worker(jobs.runtime, Registry({"fall": lambda args: args["article"]})) as worker:
            assert worker.work_one()
        return str(id)

    id = with_jobs(act)
    for told in (script("failed"), script("jobs", "list"), script("jobs", "show", id)):
        assert "handler-error: KeyError: 'article'\n" in told.out


EVERY = {"failed", "mail", "acme", "late"}
ASKED: list[tuple[tuple[str, ...], set[str]]] = [
    (("--status", "failed"), {"failed"}),
    (("--status", "pending"), {"mail", "acme", "late"}),
    (("--type", "send"), {"mail", "acme", "late"}),
    (("--queue", "mail"), {"mail"}),
    (("--queue", "mail", "--type", "print"), set()),
    (("--tenant", "acme"), {"acme"}),
    (("--since", "1h"), EVERY),
    (("--until", "1h"), set()),
    (("--until", "2100-01-01T00:00:00Z", "--since", "2026-01-01T00:00:00+02:00"), EVERY),
]


def test_each_filter_leaves_the_others_out(script: Script, with_jobs: WithJobs):
    def make(jobs: Jobs) -> dict[str, str]:
        return {
            str(bury(jobs)): "failed",
            str(jobs.enqueue("send", queue="mail")): "mail",
            str(jobs.enqueue("send", tenant="acme")): "acme",
            str(jobs.enqueue("send", delay=60)): "late",
        }

    names = with_jobs(make)
    for asked, found in ASKED:
        assert {names[id] for id in ids(script("jobs", "list", "--json", *asked))} == found, asked


@on_sqlite
def test_a_relative_moment_is_before_now(script: Script, with_jobs: WithJobs):
    id = made(with_jobs, 1)[0]
    created = datetime.fromisoformat(script("jobs", "show", id, "--json").json["job"]["created_at"])
    long = (datetime.now(UTC) - created + timedelta(hours=1)).total_seconds()
    assert ids(script("jobs", "list", "--json", "--since", f"{long:.0f}s", "--until", "0")) == [id]
    assert ids(script("jobs", "list", "--json", "--since", "0")) == []


def test_pages_follow_one_another_by_the_command_that_is_told(bare: Script, script: Script, with_jobs: WithJobs):
    expected = made(with_jobs, 5)
    told = script("jobs", "list", "--limit", "2", "--type", "send")
    found = [told.out.splitlines()[1:]]
    while told.err:
        match = re.fullmatch(r"wagoe-jobs: there are more: wagoe-jobs (.*)\n", told.err)
        assert match is not None
        told = bare(*shlex.split(match[1]))
        found.append(told.out.splitlines()[1:])
    assert [[row.split()[0] for row in page] for page in found] == [expected[:2], expected[2:4], expected[4:]]


@on_sqlite
def test_the_cursor_of_json_leads_on_to_the_end(script: Script, with_jobs: WithJobs):
    expected, cursor, found = made(with_jobs, 3), None, []
    for _ in range(3):
        page = script("jobs", "list", "--json", "--limit", "1", *(("--cursor", cursor) if cursor else ())).json
        cursor = page["cursor"]
        found += [job["id"] for job in page["jobs"]]
    assert (found, cursor) == (expected, None)


@on_sqlite
def test_rows_of_a_terminal_fit_and_say_how_long_ago(on_terminal: Script, script: Script, with_jobs: WithJobs):
    long = made(with_jobs, 1, queue="a-queue-with-a-name-that-is-quite-long")[0]
    told = on_terminal("jobs", "list")
    assert [line for line in told.out.splitlines() if len(line) > 80] == []
    assert re.search(rf"^{long} send a-queue… pending +0 \d+s ago$", told.out, re.M)
    assert "a-queue-with-a-name-that-is-quite-long" in script("jobs", "list").out
    assert re.search(r" \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", script("jobs", "list").out)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("--status", "faild"), "'faild' is not one of pending, running, retrying, completed, failed, cancelled; did"),
        (("--status", "faild"), "did you mean 'failed'?"),
        (("--since", "soon"), "'soon' is no instant: write 2h for two hours ago, or 2026-05-01T09:00:00+02:00"),
        (("--since", "2026-05-01"), "has no offset: write 2026-05-01T00:00:00Z for UTC"),
        (("--since", "999999999d"), "is before the year 1"),
        (("--until", "99999999999999999999999d"), "longer than any clock runs"),
        (("--limit", "0"), "--limit"),
        (("--limit", "1001"), "--limit"),
        (("--cursor", "x"), "cursor: must be what an earlier page gave"),
        (("--queue", ""), "--queue: must be 1 to 200 characters"),
        (("--type", "\udcff"), "--type: holds half a surrogate pair"),
        (("--quue", "a"), "--queue"),
    ],
)
@on_sqlite
def test_a_slip_is_told_in_one_line(script: Script, asked: tuple[str, ...], says: str):
    told = script("jobs", "list", *asked)
    assert (told.code, told.out) == (2, "")
    assert says in told.err
    assert told.err.count("\n") == 1


def test_a_name_that_nothing_knows_is_told_with_the_nearest(script: Script, with_jobs: WithJobs):
    made(with_jobs, 1, queue="mail")
    told = script("jobs", "list", "--queue", "mial", "--type", "sned")
    assert (told.code, told.out) == (0, "there are no such jobs\n")
    assert told.err == (
        "wagoe-jobs: nothing here knows the queue 'mial'; did you mean 'mail'?\n"
        "wagoe-jobs: nothing here knows the type 'sned'; did you mean 'send'?\n"
    )
    assert script("jobs", "list", "--queue", "mail", "--status", "failed").err == ""


def test_a_job_is_found_by_how_its_id_begins(script: Script, with_jobs: WithJobs):
    first, second = made(with_jobs, 2)
    alike = next(n for n, (one, other) in enumerate(zip(first, second, strict=True)) if one != other)
    for id in (first, second):
        assert script("jobs", "show", id[: alike + 1], "--json").json["job"]["id"] == id
        assert script("jobs", "show", id.upper(), "--json").json["job"]["id"] == id
        assert script("jobs", "show", id.replace("-", "")[:31], "--json").json["job"]["id"] == id
    both = script("jobs", "show", first[:alike])
    assert both.code == 1
    assert first in both.err
    assert second in both.err
    assert script("jobs", "show", first[:alike], "--json").json == {"job": None}


@pytest.mark.parametrize("id", [UUID(int=0), UUID(int=2**128 - 1), UUID(int=2**64)])
def test_the_first_and_last_of_all_ids_are_found_too(script: Script, with_jobs: WithJobs, id: UUID):
    with_jobs(lambda jobs: jobs.enqueue("send", id=id))
    assert script("jobs", "show", str(id)[:8], "--json").json["job"]["id"] == str(id)


@pytest.mark.parametrize(("id", "code"), [("0197", 1), ("zzzz", 2), ("019", 2), ("", 2), ("%", 2), ("0" * 33, 2)])
@on_sqlite
def test_what_begins_no_id_is_told(script: Script, id: str, code: int):
    told = script("jobs", "show", id)
    assert (told.code, told.out) == (code, "")
    assert told.err.count("\n") == 1


def test_all_of_a_job_is_shown_and_nothing_of_it_is_obeyed(script: Script, on_terminal: Script, with_jobs: WithJobs):
    def make(jobs: Jobs) -> UUID:
        args = {HOSTILE: ["\x00", {"deep": "x" * 10_000}], "n": 16**5000}
        id = jobs.enqueue("fall", args, max_retries=0, tenant=None, metadata={"from": HOSTILE.strip()})

        @handler("fall")
        def fall(args: object) -> None:
            raise ValueError(HOSTILE)

        with Worker(jobs.runtime, Registry([fall])) as worker:
            worker.work_one()
        return UUID(int=id.int)

    id = str(with_jobs(make))
    for told in (script("jobs", "show", id), on_terminal("jobs", "show", id)):
        assert told.code == 0
        assert "\x1b" not in told.out
        assert "\u202e" not in told.out
        assert "[red]x[/red]" in told.out
        assert [line for line in told.out.splitlines() if line.startswith("id ")] == [f"id            {id}"]
        assert "characters more: --json has them" in told.out
        assert len(told.out) < 12_000
        assert "raised        builtins.ValueError" in told.out
        assert re.search(r"^ {14}  File .*, in fall$", told.out, re.M)
    document = script("jobs", "show", id, "--json").json["job"]
    assert document["args"][HOSTILE][1]["deep"] == "x" * 10_000
    assert document["error"]["message"] == HOSTILE


def test_each_id_is_answered(script: Script, with_jobs: WithJobs):
    dead, waiting, unknown = str(with_jobs(bury)), made(with_jobs, 1)[0], str(uuid4())
    told = script("jobs", "retry", dead, waiting, unknown, dead)
    assert told.code == 1
    assert told.out.splitlines() == [
        f"{dead}  retried",
        f"{waiting}  not a dead letter (pending)",
        f"{unknown}  unknown",
    ]
    again = script("jobs", "retry", dead, "--json")
    assert (again.code, again.json["jobs"][0]["state"]) == (1, "not a dead letter (pending)")


def test_jobs_are_cancelled_each_as_it_can_be(script: Script, with_jobs: WithJobs):
    dead, unknown = str(with_jobs(bury)), str(uuid4())
    running = made(with_jobs, 1)[0]
    with_jobs(lambda jobs: jobs.runtime.queue.claim("default", "holder", 1))
    waiting = made(with_jobs, 1)[0]
    told = script("jobs", "cancel", waiting, running, dead, unknown)
    assert told.code == 1
    assert told.out.splitlines() == [
        f"{waiting}  cancelled",
        f"{running}  asked to stop",
        f"{dead}  has ended already (failed)",
        f"{unknown}  unknown",
    ]
    assert script("jobs", "cancel", waiting, "--json").json == {
        "jobs": [{"id": waiting, "done": False, "state": "has ended already (cancelled)"}],
        "complete": True,
    }


@on_sqlite
def test_one_slip_among_many_ids_changes_nothing(script: Script, with_jobs: WithJobs):
    dead = str(with_jobs(bury))
    assert script("jobs", "retry", dead, dead[:-1]).code == 2
    assert script("jobs", "show", dead, "--json").json["job"]["status"] == "failed"


def test_hundreds_of_ids_at_once(script: Script, with_jobs: WithJobs):
    dead = [str(id) for id in with_jobs(lambda jobs: bury_many(jobs, 300))]
    told = script("retry", *dead)
    assert told.code == 0
    assert told.out.splitlines() == [f"{id}  retried" for id in dead]
