"""The list of faults, and the tool that says which have no test."""

import re
from pathlib import Path

import pytest

from tests.dev.faults import ROOT, faults, filled, main, named_in, numbers

PAGE = (ROOT / "docs" / "faults.md").read_text()


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A page of three faults, and tests that name two of them."""
    (tmp_path / "faults.md").write_text(
        "| no. | a | b | c |\n| 1 | One. | Right. | |\n| 2 | Two. | Right. | `old.py` |\n| 3 | Three. | Right. | |\n"
    )
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_a.py").write_text(marked("1"))
    (tests / "test_b.py").write_text("Case('x', {0}s=(1, 2)),\nCase('y', {0}=2)\n".format("fault"))
    return tmp_path


def marked(numbers: str) -> str:
    """A test with the marker, put together so that this file does not seem to name those faults."""
    return f"@pytest.mark.{'fault'}({numbers})\ndef test_a(): ...\n"


def run(house: Path, *arguments: str) -> int:
    return main(["--page", str(house / "faults.md"), "--tests", str(house / "tests"), *arguments])


def test_the_page_numbers_the_faults_without_a_gap():
    assert list(faults(PAGE)) == list(range(1, 72))


def test_every_file_that_the_page_names_does_name_the_fault():
    where = named_in(ROOT / "tests")
    for line in PAGE.splitlines():
        if match := re.match(r"\| (\d+) \|", line):
            for file in re.findall(r"`(tests/[^`]+)`", line):
                assert file in where.get(int(match[1]), []), line


def test_no_test_names_a_fault_that_the_page_does_not_list():
    assert set(named_in(ROOT / "tests")) <= set(faults(PAGE))


def test_a_fault_without_a_test_is_listed_and_fails(house: Path, capsys: pytest.CaptureFixture[str]):
    assert run(house) == 1
    assert capsys.readouterr().out == "fault 3 has no test: Three.\n2 of 3 faults have a test\n"


def test_only_the_needed_ones_count(house: Path):
    assert run(house, "--need", "1-2") == 0


def test_a_number_that_the_page_does_not_list_fails(house: Path, capsys: pytest.CaptureFixture[str]):
    (house / "tests" / "test_c.py").write_text(marked("3, 99"))
    assert run(house) == 1
    assert "fault 99 is named in tests/test_c.py" in capsys.readouterr().out


def test_the_last_column_is_filled_from_the_tests(house: Path):
    run(house, "--write")
    rows = (house / "faults.md").read_text().splitlines()
    assert rows[1:] == [
        "| 1 | One. | Right. | `tests/test_a.py`, `tests/test_b.py` |",
        "| 2 | Two. | Right. | `tests/test_b.py` |",
        "| 3 | Three. | Right. | |",
    ]


def test_filling_twice_changes_nothing():
    where = named_in(ROOT / "tests")
    assert filled(filled(PAGE, where), where) == filled(PAGE, where)


def test_ranges_of_numbers_are_read():
    assert numbers("3,7-10") == {3, 7, 8, 9, 10}
