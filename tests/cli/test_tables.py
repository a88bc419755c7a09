"""Tables fit a window without an id being cut, and keep every word where nobody looks."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.cli.conftest import Terminal
from wagoe_jobs.cli.output import Output
from wagoe_jobs.cli.tables import Column, laid_out

ID = "0197c1de-6b10-7f3a-8c55-0f2a61b7d9e4"
COLUMNS = (Column("id"), Column("type", 8), Column("n"), Column("ended", spare=True), Column("error", 12, spare=True))
ROW = (ID, "send-a-very-long-mail", 7, "2 days ago", "handler-error: no paper")


def lines(rows: Sequence[Sequence[object]], width: int | None) -> list[str]:
    return [line.plain for line in laid_out(COLUMNS, rows, width)]


def test_a_pipe_gets_all_of_every_cell():
    assert lines([ROW], None) == [
        f"{'id':36} {'type':21} n ended      error",
        f"{ID} send-a-very-long-mail 7 2 days ago handler-error: no paper",
    ]


def test_what_can_be_spared_goes_first_and_the_rest_is_cut():
    assert lines([ROW], 80) == [
        f"{'id':36} {'type':17} n ended      error",
        f"{ID} send-a-very-long… 7 2 days ago handler-err…",
    ]
    assert lines([ROW], 60) == [f"{'id':36} {'type':10} n ended", f"{ID} send-a-ve… 7 2 days ago"]
    assert lines([ROW], 57) == [f"{'id':36} {'type':18} n", f"{ID} send-a-very-long-… 7"]
    assert lines([ROW], 50) == [f"{'id':36} {'type':11} n", f"{ID} send-a-ver… 7"]


@pytest.mark.parametrize("width", [1, 20, 36, 45])
def test_no_id_is_cut_in_the_narrowest_window(width: int):
    assert all(line.startswith(ID) for line in lines([ROW], width)[1:])


@given(st.lists(st.tuples(st.text(), st.text(), st.text(max_size=20)), max_size=5), st.integers(40, 200))
def test_no_row_is_wider_than_the_window_where_there_is_room(rows: list[tuple[str, str, str]], width: int):
    columns = (Column("a", 5), Column("b", 5), Column("c", 5, spare=True))
    told = laid_out(columns, rows, width)
    assert len(told) == len(rows) + 1
    assert all(cell_len(line.plain) <= width for line in told)
    assert all("\n" not in line.plain for line in told)


def test_wide_characters_are_counted_as_they_are_shown():
    narrow, wide = lines([(ID, "温泉" * 10, 7, None, None), (ID, "ab", 7, None, None)], 50)[1:]
    assert cell_len(narrow) == cell_len(wide) == 50


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    Output(as_json=False, out=out).table([Column("status", state=True), Column("type")], [["failed", "failed"]])
    assert out.getvalue() == "\x1b[1mstatus\x1b[0m \x1b[1mtype\x1b[0m\n\x1b[31mfailed\x1b[0m failed\n"
