"""Tables for people: one line a row, whatever is in it.

Into a pipe every cell is written whole, so that rows can be searched and cut. On a terminal a row fits the window:
columns that can be spared go first, then cells end in an ellipsis; a column that keeps its width, as an id's, is
never cut.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from wagoe_jobs.core.clean import clean

T = TypeVar("T")
GAP = 1
STYLES: Mapping[str, str] = {
    "running": "green",
    "retrying": "yellow",
    "failed": "red",
    "cancelled": "dim",
    "stale": "red",
    "nobody": "red",
}
"""How the words of a column of states look where there are colours."""


class Column(NamedTuple):
    """`least` is the width below which it is not cut, None for never; `spare` leaves it out of a narrow window."""

    name: str
    least: int | None = None
    spare: bool = False
    state: bool = False
    """Whether its words are states, which have colours."""


def laid_out(columns: Sequence[Column], rows: Sequence[Sequence[object]], width: int | None) -> Sequence[Text]:
    """The header and the rows, as lines of at most `width` cells if that can be; None sets no bound."""
    texts = [["" if cell is None else clean(cell) for cell in row] for row in rows]
    natural = [max(map(cell_len, [column.name, *_at(place, texts)])) for place, column in enumerate(columns)]
    shown = list(range(len(columns))) if width is None else _that_fit(columns, natural, width)
    widths = _widths(columns, natural, shown, width)
    numbers = [bool(rows) and all(isinstance(cell, int | float | None) for cell in _at(p, rows)) for p in shown]
    header = _line([(columns[p].name, "bold") for p in shown], widths, numbers)
    lines = ([(row[p], STYLES.get(row[p], "") if columns[p].state else "") for p in shown] for row in texts)
    return [header, *(_line(line, widths, numbers) for line in lines)]


def _at(place: int, rows: Sequence[Sequence[T]]) -> Sequence[T]:
    return [row[place] for row in rows]


def _that_fit(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int]:
    """The places of the columns that are shown: spare ones are dropped, the last first, while the least is too much."""
    shown = list(range(len(columns)))
    spare = [place for place in shown if columns[place].spare]
    while spare and sum(_least(columns[p], natural[p]) + GAP for p in shown) - GAP > width:
        shown.remove(spare.pop())
    return shown


def _widths(columns: Sequence[Column], natural: Sequence[int], shown: Sequence[int], width: int | None) -> list[int]:
    if width is None:
        return [natural[place] for place in shown]
    widths = [_least(columns[place], natural[place]) for place in shown]
    left = max(0, width - sum(widths) - GAP * (len(shown) - 1))
    for index, place in enumerate(shown):  # what is left goes to those that want more, from the left
        more = min(left, natural[place] - widths[index])
        widths[index] += more
        left -= more
    return widths


def _least(column: Column, natural: int) -> int:
    return natural if column.least is None else min(natural, max(column.least, cell_len(column.name)))


def _line(cells: Sequence[tuple[str, str]], widths: Sequence[int], numbers: Sequence[bool]) -> Text:
    """Cells with their styles; those of columns of numbers are set to the right."""
    line = Text(no_wrap=True)
    for (text, style), width, number in zip(cells, widths, numbers, strict=True):
        cell = _fitted(text, width)
        space = " " * (width - cell_len(cell))
        line.append(space if number else "").append(cell, style).append("" if number else space).append(" " * GAP)
    line.rstrip()
    return line


def _fitted(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "\N{HORIZONTAL ELLIPSIS}"
