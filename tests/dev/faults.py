"""Which numbered faults of docs/faults.md a test names, and which none does yet: `./dev faults`.

A test names faults by `@pytest.mark.fault(n, ...)`, a row in a table of cases by `fault=n` or
`faults=(n, ...)`. This reads names only; whether a test really shows the fault is for its reader to
judge. It needs nothing but the standard library, so that it runs before anything is installed.
"""

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (\d+) \| (.*?) \| (.*?) \|(.*)\|$", re.M)
MARK = re.compile(r"\bmark\.fault\(([^)]*)\)|\bfaults?\s*=\s*(?:\(([\d,\s]+)\)|(\d+))")


def faults(page: str) -> dict[int, str]:
    """What went wrong, by number, in the order of the page."""
    return {int(number): what for number, what, _, _ in ROW.findall(page)}


def named_in(tests: Path) -> dict[int, list[str]]:
    """The test files that name each fault, as paths below `tests`' parent, in order."""
    found: dict[int, set[str]] = {}
    for file in sorted(tests.rglob("*.py")):
        for groups in MARK.findall(file.read_text(errors="replace")):
            for number in re.findall(r"\d+", " ".join(groups)):
                found.setdefault(int(number), set()).add(file.relative_to(tests.parent).as_posix())
    return {number: sorted(files) for number, files in found.items()}


def filled(page: str, where: Mapping[int, list[str]]) -> str:
    """The page with its last column made anew."""

    def row(match: re.Match[str]) -> str:
        number, what, right, _ = match.groups()
        files = ", ".join(f"`{file}`" for file in where.get(int(number), []))
        return f"| {number} | {what} | {right} | {files} |" if files else f"| {number} | {what} | {right} | |"

    return ROW.sub(row, page)


def numbers(spec: str) -> set[int]:
    """`3,7-10` as {3, 7, 8, 9, 10}."""
    found: set[int] = set()
    for part in spec.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def main(arguments: list[str] | None = None) -> int:
    """0 when every fault that is needed has a test, 1 otherwise; a fault that no page lists is an error too."""
    parser = argparse.ArgumentParser(prog="./dev faults", description="List the faults that no test names yet.")
    parser.add_argument("--need", type=numbers, help="only these count, as 3,7-10 (default: all)")
    parser.add_argument("--write", action="store_true", help="fill the last column of docs/faults.md")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "faults.md", help=argparse.SUPPRESS)
    parser.add_argument("--tests", type=Path, default=ROOT / "tests", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    page = options.page.read_text()
    known, where = faults(page), named_in(options.tests)
    if options.write:
        options.page.write_text(filled(page, where))
    needed = options.need or set(known)
    missing = sorted(needed - set(where))
    unlisted = sorted(set(where) - set(known))
    for number in missing:
        print(f"fault {number} has no test: {known.get(number, 'and docs/faults.md does not list it')}")
    for number in unlisted:
        print(f"fault {number} is named in {', '.join(where[number])}, but docs/faults.md does not list it")
    print(f"{len(needed) - len(missing)} of {len(needed)} faults have a test")
    return 1 if missing or unlisted else 0


if __name__ == "__main__":
    sys.exit(main())
