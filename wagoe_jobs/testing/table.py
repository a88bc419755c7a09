"""How a function becomes cases of the contract: `covers` says which method it tests in which states.

@covers("size", State.READY)                 one case; the states are told for the matrix
def case_size_counts_ready_jobs(backend): ...

@covers_each("delete", ALL)                  one case a state: the subject is brought into it first
def case_delete(backend, subject): ...
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

from wagoe_jobs.testing.backend import Backend
from wagoe_jobs.testing.subjects import State, bring

Cell = tuple[str, str]
"""A method and a state: a `State`, or that of a key or a ticker."""
Function = TypeVar("Function", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class Case:
    """One test of one promise: `run` raises AssertionError where the backend breaks it."""

    name: str
    run: Callable[[Backend], None]
    cells: frozenset[Cell]


def covers(method: str, *states: str) -> Callable[[Function], Function]:
    """Mark a case `function(backend)`; may be given several times."""

    def mark(function: Function) -> Function:
        function.__dict__.setdefault("cells", set()).update((method, state) for state in states)
        return function

    return mark


def covers_each(method: str, states: Iterable[State]) -> Callable[[Function], Function]:
    """Mark `function(backend, subject)`, which becomes a case for each state."""

    def mark(function: Function) -> Function:
        function.__dict__["each"] = (method, tuple(states))
        return function

    return mark


def cases_of(module: ModuleType) -> Iterator[Case]:
    """The cases of a module, in the order in which they are written."""
    for name, function in vars(module).items():
        if name.startswith("case_"):
            yield from _cases(name.removeprefix("case_"), function)


def _cases(name: str, function: Any) -> Iterator[Case]:
    if "each" in vars(function):
        method, states = function.each
        for state in states:
            yield Case(f"{name}[{state}]", partial(_run_in, state, function), frozenset({(method, state)}))
    else:
        yield Case(name, function, frozenset(vars(function).get("cells", ())))


def _run_in(state: State, function: Callable[..., None], backend: Backend) -> None:
    function(backend, bring(backend, state))
