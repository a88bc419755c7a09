"""Every block of every page is somebody's: a program, a command or a file without a test would be noticed here."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.test_pages import PAGES, ROOT

TESTED = {
    "README.md": {
        "python": "tests/test_newcomer.py",
        "toml": "tests/docs/test_pages.py",
        "console": "tests/docs/test_pages.py",
    },
    "docs/async.md": {"python": "tests/docs/test_async.py"},
    "docs/cli.md": {"console": "tests/cli/test_page.py"},
    "docs/handlers.md": {"python": "tests/docs/test_guides.py"},
    "docs/production.md": {"console": "tests/docs/test_guides.py", "ini": "tests/docs/test_guides.py"},
    "docs/state_machine.md": {"mermaid": "tests/docs/test_state_machine.py"},
    "docs/tutorial.md": dict.fromkeys(["console", "python", "text", "toml"], "tests/docs/test_tutorial.py"),
    "docs/wire.md": {"json": "tests/docs/test_wire.py"},
    "docs/wiring.md": {"python": "tests/wiring/test_page.py"},
}
"""Which file runs the blocks of a page, by language. A drawing has none."""


def languages(page: Path) -> Iterator[str]:
    """Of each block that is opened; every second fence closes one."""
    fences = re.findall(r"^```(.*)$", page.read_text(), re.M)
    assert len(fences) % 2 == 0, f"{page} leaves a block open"
    for opening in fences[::2]:
        yield opening.split()[0] if opening else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_has_a_test(page: Path):
    name = str(page.relative_to(ROOT))
    assert set(languages(page)) - {""} == set(TESTED.get(name, {}))


@pytest.mark.parametrize("page", sorted(TESTED))
def test_the_test_reads_the_page(page: str):
    for file in TESTED[page].values():
        assert Path(page).name in (ROOT / file).read_text(), file
