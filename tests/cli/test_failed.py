"""`failed list` and `failed retry`: every dead letter that is asked for once, whatever happens meanwhile."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest

from tests.cli.conftest import Script, Terminal, WithJobs, burial, bury, bury_many, on_sqlite
from wagoe_jobs.cli import failed, many
from wagoe_jobs.cli.many import PAGE, redrive
from wagoe_jobs.client import Jobs
from wagoe_jobs.core.job import Status
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import JobFilter, JobStore

ALL = ("failed", "retry", "--all", "--yes")


def dead(script: Script) -> int:
    return len(script("failed", "list", "--json", "--limit", "1000").json["jobs"])


def test_dead_letters_are_listed_by_what_is_asked_for(script: Script, with_jobs: WithJobs):
    first = str(with_jobs(bury))
    second = str(with_jobs(lambda jobs: bury(jobs, type="scan", queue="paper")))
    with_jobs(lambda jobs: jobs.enqueue("print"))
    assert [job["id"] for job in script("failed", "list", "--json").json["jobs"]] == [second, first]
    for asked in (("--type", "scan"), ("--queue", "paper")):
        assert [job["id"] for job in script("failed", "list", "--json", *asked).json["jobs"]] == [second]
    assert script("failed", "list", "--until", "1h").out == "there are no dead letters\n"
    assert (
        script("failed", "--queue", "paper", "--json").json == script("failed", "list", "--type", "scan", "--json").json
    )


@on_sqlite
def test_rows_of_a_terminal_hold_the_whole_id_and_some_of_the_error(on_terminal: Script, with_jobs: WithJobs):
    id = str(with_jobs(lambda jobs: bury(jobs, "the paper tray is empty, and the spare one is gone as well")))
    told = on_terminal("failed", "list")
    assert [line for line in told.out.splitlines() if len(line) > 80] == []
    assert f"{id} print" in told.out
    assert "handler-error: the" in told.out


def test_all_are_retried_page_after_page(script: Script, with_jobs: WithJobs):
    with_jobs(lambda jobs: bury_many(jobs, PAGE * 2 + 1))
    told = script(*ALL, "--json")
    assert (told.code, told.json) == (0, {"retried": PAGE * 2 + 1, "skipped": 0, "complete": True})
    assert dead(script) == 0
    assert script(*ALL).out == "retried 0 dead letters\n"


def test_only_those_that_are_asked_for_are_retried(script: Script, with_jobs: WithJobs):
    with_jobs(lambda jobs: bury_many(jobs, 2))
    with_jobs(lambda jobs: bury_many(jobs, 3, queue="mail"))
    with_jobs(lambda jobs: bury_many(jobs, 4, type="scan"))
    assert script(*ALL, "--until", "1h").out == "retried 0 dead letters\n"
    assert script(*ALL, "--type", "scan", "--since", "1h").out == "retried 4 dead letters\n"
    assert script(*ALL, "--queue", "mail").out == "retried 3 dead letters\n"
    assert dead(script) == 2


@pytest.mark.parametrize(
    "asked", [(), ("--all", "{id}"), ("{id}", "--type", "print"), ("{id}", "--since", "1h"), ("--all",)]
)
@on_sqlite
def test_what_may_be_a_slip_retries_nothing(script: Script, with_jobs: WithJobs, asked: tuple[str, ...]):
    id = str(with_jobs(bury))
    assert script("failed", "retry", *(word.format(id=id) for word in asked)).code == 2
    assert dead(script) == 1


@on_sqlite
def test_those_that_are_named_are_answered_each(script: Script, with_jobs: WithJobs):
    first, second = (str(with_jobs(bury)) for _ in range(2))
    told = script("failed", "retry", first, second)
    assert (told.code, told.out) == (0, f"{first}  retried\n{second}  retried\n")


@pytest.mark.parametrize("command", [("failed", "retry", "--all", "--yes"), ("jobs", "list"), ("queues", "list")])
@on_sqlite
def test_options_before_the_command_are_not_ignored(
    script: Script, bare: Script, settings_file: Any, command: tuple[str, ...]
):
    group, *rest = command
    told = bare(group, "--settings", str(settings_file), *rest)
    assert (told.code, told.out) == (2, "")
    assert f"write the options after {rest[0]}" in told.err


@contextmanager
def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> Iterator[Terminal]:
    asked = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", asked)
    yield asked


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 2), ("\n", 1, 2), ("", 130, 2)])
@on_sqlite
def test_a_person_is_asked_first(
    script: Script, with_jobs: WithJobs, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: int
):
    with_jobs(lambda jobs: bury_many(jobs, 2))
    with answering(monkeypatch, answer) as asked:
        told = script("failed", "retry", "--all")
    assert told.code == code
    assert "Retry 2 dead letters? [y/N]" in asked.getvalue()
    assert dead(script) == left


@on_sqlite
def test_nobody_is_asked_about_nothing(script: Script, monkeypatch: pytest.MonkeyPatch):
    with answering(monkeypatch, "") as asked:
        assert script("failed", "retry", "--all").out == "retried 0 dead letters\n"
    assert "Retry" not in asked.getvalue()


class Meddling:
    """A store in which something happens before each redrive."""

    def __init__(self, store: JobStore, before: Callable[[UUID], object]) -> None:
        self.search, self.find, self._retry, self._before = store.search, store.find, store.retry, before

    def retry(self, id: UUID) -> bool:
        self._before(id)
        return self._retry(id)


def test_jobs_that_fail_again_at_once_do_not_keep_it_going(with_jobs: WithJobs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(many, "PAGE", 2)
    retried: list[UUID] = []

    def go(jobs: Jobs) -> tuple[int, int, int]:
        buried = bury_many(jobs, 5)

        def bury_the_last(_: UUID) -> None:
            for claim in jobs.runtime.queue.claim("default", "undertaker", 10):
                jobs.runtime.queue.settle([burial(claim)])

        store = Meddling(jobs.runtime.store, lambda id: (bury_the_last(id), retried.append(id)))
        done, ended = redrive(store, JobFilter(status=Status.FAILED), total=None)
        assert (ended.stopped, ended.error) == (False, None)
        bury_the_last(buried[0])
        return done.retried, done.skipped, len(jobs.runtime.store.failed_jobs(limit=10).jobs)

    assert with_jobs(go) == (5, 0, 5)
    assert len(set(retried)) == len(retried) == 5


def test_what_someone_else_retried_meanwhile_is_told(with_jobs: WithJobs):
    def go(jobs: Jobs) -> tuple[int, int]:
        last = bury_many(jobs, 3)[0]
        store = Meddling(jobs.runtime.store, lambda id: jobs.retry(last))
        done, _ = redrive(store, JobFilter(status=Status.FAILED), total=None)
        return done.retried, done.skipped

    assert with_jobs(go) == (2, 1)


@pytest.fixture
def after_two(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Lets something happen as the third dead letter's turn comes."""

    def arrange(happens: Callable[[], object]) -> None:
        seen: list[UUID] = []

        def before(id: UUID) -> None:
            seen.append(id)
            if len(seen) == 3:
                happens()

        real = failed.redrive
        monkeypatch.setattr(
            failed, "redrive", lambda store, wanted, total: real(Meddling(store, before), wanted, total=total)
        )

    return arrange


def test_a_signal_stops_it_after_the_job_it_is_at(
    script: Script, with_jobs: WithJobs, after_two: Callable[[Callable[[], object]], None]
):
    with_jobs(lambda jobs: bury_many(jobs, 10))
    after_two(lambda: signal.raise_signal(signal.SIGINT))
    told = script(*ALL)
    assert (told.code, told.out) == (130, "retried 3 dead letters\n")
    assert "stopped before the end: 3 dead letters retried; the same command goes on from there" in told.err
    assert dead(script) == 7
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@on_sqlite
def test_a_store_that_goes_away_meanwhile_leaves_word_how_far_it_came(
    script: Script, with_jobs: WithJobs, after_two: Callable[[Callable[[], object]], None]
):
    def gone() -> None:
        raise BackendUnavailable("db", "it was unplugged")

    with_jobs(lambda jobs: bury_many(jobs, 10))
    after_two(gone)
    told = script(*ALL, "--json")
    assert (told.code, told.json) == (3, {"retried": 2, "skipped": 0, "complete": False})
    assert "2 dead letters retried" in told.err
    assert "it was unplugged" in told.err
    assert dead(script) == 8


@on_sqlite
def test_a_bar_is_for_terminals_and_never_in_the_answer(on_terminal: Script, script: Script, with_jobs: WithJobs):
    with_jobs(lambda jobs: bury_many(jobs, 3))
    assert script(*ALL, "--queue", "nowhere").err == "wagoe-jobs: nothing here knows the queue 'nowhere'\n"
    told = on_terminal(*ALL)
    assert told.out == "retried 3 dead letters\n"
    assert "3/3" in told.err
