"""`-a` finds a container from the working directory, and says what is wrong with the nearest name."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dependency_injector.containers import DynamicContainer

from wagoe_jobs.cli.target import container_at
from wagoe_jobs.errors import SettingsError, WiringError

MODULE = """
from dependency_injector.containers import DynamicContainer

container = DynamicContainer()
worker_node = DynamicContainer()
number = 5
"""


@pytest.fixture(autouse=True)
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with a package of its own, forgotten afterwards."""
    package = tmp_path / "house_of_nodes"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "good.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield package
    for name in [name for name in sys.modules if name.startswith("house_of_nodes")]:
        del sys.modules[name]


def test_a_container_is_found_by_module_and_name():
    assert isinstance(container_at("house_of_nodes.good:worker_node"), DynamicContainer)


def test_its_name_may_be_left_out():
    assert container_at("house_of_nodes.good") is sys.modules["house_of_nodes.good"].container


def test_a_slip_in_the_name_is_told_with_the_nearest():
    with pytest.raises(WiringError, match="did you mean 'worker_node'"):
        container_at("house_of_nodes.good:worker_nod")


def test_a_name_unlike_any_is_told_with_the_containers_that_there_are(house: Path):
    named = "from wagoe_jobs.containers import JobsContainer\nweb, worker = JobsContainer(), JobsContainer()\n"
    (house / "nodes.py").write_text(named)
    with pytest.raises(WiringError, match=r"house_of_nodes\.nodes has no container; its containers: web, worker$"):
        container_at("house_of_nodes.nodes")


@pytest.mark.parametrize("target", ["", ":", ":container", "a b", ".good", "house_of_nodes/good.py"])
def test_what_cannot_be_a_target_is_refused(target: str):
    with pytest.raises(WiringError, match=r"write package\.module:container"):
        container_at(target)


@pytest.mark.parametrize(
    ("target", "missing"),
    [
        ("no_such_house", "no_such_house"),
        ("house_of_nods.good", r"house_of_nods, .*; did you mean 'house_of_nodes'"),
        ("house_of_nodes.goood:container", r"house_of_nodes\.goood, .*; did you mean 'good'"),
        ("house_of_nodes.good.py:container", r"house_of_nodes\.good\.py, .*; write house_of_nodes\.good$"),
    ],
)
def test_a_module_that_is_not_there_is_named(target: str, missing: str):
    with pytest.raises(WiringError, match=f"there is no module {missing}"):
        container_at(target)


def test_what_is_no_container_is_refused():
    with pytest.raises(WiringError, match="good:number is a int, not a dependency-injector container"):
        container_at("house_of_nodes.good:number")


def test_what_a_module_prints_is_no_part_of_the_answer(house: Path, capsys: pytest.CaptureFixture[str]):
    (house / "loud.py").write_text(f"print('hello'){MODULE}")
    container_at("house_of_nodes.loud")
    assert capsys.readouterr() == ("", "hello\n")


def test_a_module_that_fails_shows_its_trace_and_one_line(house: Path, capsys: pytest.CaptureFixture[str]):
    (house / "bad.py").write_text("def dig():\n    return 1 / 0\n\ndig()\n")
    with pytest.raises(
        WiringError, match=r"house_of_nodes\.bad cannot be imported: ZeroDivisionError: division by zero"
    ):
        container_at("house_of_nodes.bad")
    assert "in dig" in capsys.readouterr().err


def test_an_import_that_fails_inside_is_not_taken_for_the_modules_own(house: Path):
    (house / "needy.py").write_text("import not_installed_at_all\n")
    with pytest.raises(WiringError, match=r"house_of_nodes\.needy cannot be imported: ModuleNotFoundError"):
        container_at("house_of_nodes.needy")


def test_an_error_of_the_library_passes_as_it_is(house: Path):
    (house / "unset.py").write_text(
        "from wagoe_jobs.errors import SettingsError\nraise SettingsError('jobs.x', 'no')\n"
    )
    with pytest.raises(SettingsError, match=r"jobs\.x: no"):
        container_at("house_of_nodes.unset")
