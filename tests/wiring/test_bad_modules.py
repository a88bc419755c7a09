"""Modules of wrong shapes: each is refused by name, with an error of this library, before anything is opened."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from dependency_injector import providers

from tests.wiring.parts import MEMORY, Recorder, system
from wagoe_jobs import Contribution, WiringError, collected, ref, running
from wagoe_jobs.containers import JobsContainer


class Adding:
    """A module that adds what it is made with."""

    def __init__(self, **parts: Any) -> None:
        self.parts = parts

    def configure(self, settings: object, enabled: frozenset[str]) -> Contribution:
        return Contribution(**self.parts)


def refusal(*modules: object) -> str:
    with pytest.raises(WiringError) as caught, running(system(*modules)):
        pass
    return str(caught.value)


@pytest.mark.parametrize("requires", [5, None, "engine", b"x", [5], [""], object(), iter(["nowhere"])])
def test_requirements_are_names(requires: Any):
    assert "Adding: requires must be a list of names" in refusal(Adding(requires=requires))


@pytest.mark.parametrize("key", [5, None, "", b"x"])
def test_collections_have_names(key: Any):
    assert "Adding: contributes must be a mapping of names" in refusal(Adding(contributes={key: 1}))


def test_what_refers_to_itself_is_a_circle():
    assert refusal(Adding(providers={"a": ref("a")})) == "a circle of references: a -> a"
    assert "a circle of references: a" in refusal(
        Adding(providers={"a": providers.Singleton(list, collected("c"))}, contributes={"c": ref("a")})
    )


def test_a_module_that_ends_the_process_while_it_is_imported_is_named(tmp_path: Path, monkeypatch: Any):
    file = tmp_path / "ends_the_process.py"
    file.write_text("raise SystemExit(7)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    told = "ends_the_process: the module cannot be imported: SystemExit: 7"
    assert refusal("ends_the_process") == f"{told} ({file}, line 1)"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("import no_such_module_at_all", "No module named 'no_such_module_at_all'"),
        ("int('x')", "ValueError: invalid literal for int() with base 10: 'x'"),
        ("import json; json.loads('')", "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_what_ends_an_import_is_told_with_its_place(tmp_path: Path, monkeypatch: Any, line: str, reason: str):
    (tmp_path / "below_the_one_named.py").write_text(f"\n{line}\n")
    (tmp_path / "the_one_named.py").write_text("import below_the_one_named\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    place = f" ({tmp_path / 'below_the_one_named.py'}, line 2)"
    assert refusal("the_one_named") == f"the_one_named: the module cannot be imported: {reason}{place}"
    assert refusal("nowhere_at_all").endswith("cannot be imported: No module named 'nowhere_at_all'")


def test_modules_that_would_have_to_be_awaited_are_refused():
    async def boot() -> None:
        soon: asyncio.Future[list[object]] = asyncio.get_running_loop().create_future()
        soon.set_result([])
        with running(JobsContainer(settings={"jobs": MEMORY}, modules=providers.Object(soon))):
            pass

    with pytest.raises(WiringError, match="not awaited"):
        asyncio.run(boot())


def test_a_failing_start_tells_which_component_it_was():
    recorder = Recorder()
    broken = Adding(providers={"press": recorder.resource("press", fail_start=True)})
    with pytest.raises(RuntimeError, match="press does not start") as caught, running(system(broken)):
        pass
    assert caught.value.__notes__ == ["while starting press"]
