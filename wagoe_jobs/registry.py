"""Which function runs which job type: the mark that `@handler` leaves, and the registry that workers ask.

Marking registers nothing: a function becomes reachable by being contributed to a `Registry`, which belongs to
whoever made it. What is worth knowing of a function is found out once, when it is registered; whatever cannot
work as a handler is refused there, by name, with WiringError.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from wagoe_jobs.core.job import MAX_RETRIES_LIMIT, checked_name
from wagoe_jobs.errors import InvalidJob, WiringError

HandlerFunction = Callable[..., object]
ArgsModel = type[BaseModel]
F = TypeVar("F", bound=HandlerFunction)

_MARK = "__wagoe_job__"
_TOLD = 3
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What an enqueuer needs to know of a type; None leaves it to the enqueuer's own default."""

    type: str
    args_model: ArgsModel | None = None
    queue: str | None = None
    max_retries: int | None = None
    timeout: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """One type's function and what the worker needs to call it; `timeout` None lets it take its time."""

    type: str
    function: HandlerFunction
    is_async: bool
    wants_context: bool
    args_model: ArgsModel | None = None
    queue: str | None = None
    max_retries: int | None = None
    timeout: timedelta | None = None


def handler(
    type: str,
    *,
    args: ArgsModel | None = None,
    queue: str | None = None,
    max_retries: int | None = None,
    timeout: timedelta | float | None = None,
) -> Callable[[F], F]:
    """Mark a function as the handler of a job type, with the defaults for its jobs; it stays what it is.

    With a model in `args`, a job's arguments are validated at enqueue and before the run; the function still
    gets the mapping. `timeout` in seconds, if not a timedelta. Raises WiringError for what cannot be.
    """
    if callable(type):
        raise WiringError(f'@handler takes the job type: write @handler("...") above {_name_of(type)}')
    spec = JobSpec(
        type=_wired_name("type", type),
        args_model=_checked_model(type, args),
        queue=None if queue is None else _wired_name("queue", queue),
        max_retries=_checked_retries(type, max_retries),
        timeout=_checked_timeout(type, timeout),
    )

    def mark(function: F) -> F:
        if not callable(function):
            raise WiringError(f"@handler({type!r}): {function!r} is not callable")
        try:
            setattr(function, _MARK, spec)
        except AttributeError:
            raise WiringError(f"@handler({type!r}): {function!r} takes no attribute: wrap it in a function") from None
        return function

    return mark


def spec_of(handler_or_type: object) -> JobSpec:
    """The spec of what an enqueuer names: a type, a marked function or a Handler. Raises InvalidJob."""
    match handler_or_type:
        case str():
            return JobSpec(type=handler_or_type)
        case Handler(type=type, args_model=model, queue=queue, max_retries=retries, timeout=timeout):
            return JobSpec(type=type, args_model=model, queue=queue, max_retries=retries, timeout=timeout)
    spec = _mark_of(handler_or_type)
    if spec is None:
        raise InvalidJob("type", f"{_name_of(handler_or_type)} is neither a job type nor marked with @handler")
    return spec


def handlers_of(contribution: object) -> Mapping[str, Handler]:
    """The handlers in a mapping {type: callable}, a list of `@handler` functions, or a single one.

    In a mapping the key is the type, whatever the function is marked as. Raises WiringError, which names
    what is wrong: not callable, not marked, a type twice, a bad name, parameters that no job can fill.
    """
    match contribution:
        case Mapping():
            return {_wired_name("job type", type): entry_of(item, type=type) for type, item in contribution.items()}
        case str() | bytes():
            raise WiringError(f"{contribution!r} is not a handler: contribute the function, not its name")
        case _ if _mark_of(contribution) is not None:
            return _each_once([entry_of(contribution)])
        case Iterable():
            return _each_once([entry_of(item) for item in contribution])
        case _:
            return _each_once([entry_of(contribution)])


def entry_of(item: object, type: str | None = None) -> Handler:
    """The Handler for a callable, under `type` or the type that it is marked with. Raises WiringError."""
    if isinstance(item, Handler):
        return item
    label = _name_of(item) if type is None else f"handler of {type!r}"
    if not callable(item):
        raise WiringError(f"{label} is not callable: {item!r}")
    if inspect.isclass(item):
        raise WiringError(f"{label} is a class, {item.__qualname__}: contribute an object made of it")
    spec = _mark_of(item)
    if spec is None:
        if type is None:
            raise WiringError(f"{label} is not marked with @handler, and a list has no other way to name its type")
        spec = JobSpec(type=type)
    return Handler(
        type=type or spec.type,
        function=item,
        is_async=_is_async(item),
        wants_context=_wants_context(item, label),
        args_model=spec.args_model,
        queue=spec.queue,
        max_retries=spec.max_retries,
        timeout=spec.timeout,
    )


class Registry:
    """The handlers that one set of workers shares; asked for every job, so that a change counts at the next claim.

    Reading takes no lock: a writer replaces the whole mapping.
    """

    def __init__(self, contribution: object = ()) -> None:
        self._lock = Lock()
        self._handlers: Mapping[str, Handler] = handlers_of(contribution)

    def register(self, type: str, handler: object) -> None:
        """Let `handler` run this type from the next claim on, in place of what did. Raises WiringError."""
        entry = entry_of(handler, type=_wired_name("job type", type))
        with self._lock:
            self._handlers = {**self._handlers, type: entry}

    def unregister(self, type: str) -> bool:
        """Forget the type's handler; False without one. Jobs of the type are parked from the next claim on."""
        with self._lock:
            known = type in self._handlers
            self._handlers = {name: entry for name, entry in self._handlers.items() if name != type}
        return known

    def handler_for(self, type: str) -> Handler | None:
        return self._handlers.get(type)

    def job_types(self) -> Sequence[str]:
        """All types that have a handler, sorted."""
        return sorted(self._handlers)


def nearest(name: str, known: Iterable[str]) -> str:
    """What to add to an error about an unknown name: "; did you mean 'send-email'?", or nothing."""
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def refusal_of(model: ArgsModel, args: object) -> InvalidJob | None:
    """Why the model refuses these args, None if it does not; names the first wrong values but never quotes one."""
    try:
        model.model_validate(args)
    except ValidationError as exc:
        wrong = exc.errors(include_url=False, include_input=False, include_context=False)
        paths = ["args" + "".join(f"[{part!r}]" for part in each["loc"]) for each in wrong[:_TOLD]]
        others = [f"; {path}: {each['msg']}" for path, each in zip(paths[1:], wrong[1:], strict=False)]
        more = f" (and {len(wrong) - _TOLD} more)" if len(wrong) > _TOLD else ""
        return InvalidJob(paths[0], f"{wrong[0]['msg']}{''.join(others)}{more}")
    return None


def _each_once(entries: Sequence[Handler]) -> Mapping[str, Handler]:
    found: dict[str, Handler] = {}
    for entry in entries:
        if entry.type in found:
            both = f"{_name_of(found[entry.type].function)} and {_name_of(entry.function)}"
            raise WiringError(f"job type {entry.type!r} has two handlers: {both}")
        found[entry.type] = entry
    return found


def _mark_of(item: object) -> JobSpec | None:
    """The mark of a function, through a bound method too; of an object its class's, or that of its `__call__`."""
    marks = (getattr(each, _MARK, None) for each in (item, _call_of(item)))
    return next((mark for mark in marks if isinstance(mark, JobSpec)), None)


def _is_async(function: HandlerFunction) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(_behind(function))


def _behind(item: object) -> object:
    """The function that runs in the end: behind partials, static methods and objects that act as functions."""
    while isinstance(item, partial | staticmethod):
        item = item.func if isinstance(item, partial) else item.__func__
    return item if inspect.isroutine(item) else _call_of(item)


def _call_of(item: object) -> object:
    """The method of an object that acts as a function; None for what is not callable."""
    return getattr(type(item), "__call__", None)  # noqa: B004 - wanted itself, not whether it is there


def _wants_context(function: HandlerFunction, label: str) -> bool:
    """Whether a second parameter waits for the context; raises WiringError for parameters that no job can fill.

    One with a default other than None is the function's own, as in `lambda args, i=i: ...`.
    """
    behind = _behind(function)
    if inspect.isgeneratorfunction(behind) or inspect.isasyncgenfunction(behind):
        raise WiringError(f"{label} is a generator: calling it would run nothing; loop over it in a function")
    parameters = _parameters(function, label)
    places = [p for p in parameters if p.kind in _POSITIONAL]
    needed = [p.name for p in places if p.default is p.empty]
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if len(needed) > 2 or named or not (places or variadic):
        raise WiringError(f"{label} must take (args) or (args, context), not ({', '.join(map(str, parameters))})")
    return len(places) >= 2 and (places[1].default is inspect.Parameter.empty or places[1].default is None)


def _parameters(function: HandlerFunction, label: str) -> Sequence[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise WiringError(f"{label} does not tell its parameters: wrap it in a function that takes (args)") from None


def _name_of(item: Any) -> str:
    name = getattr(item, "__qualname__", None)
    return f"{getattr(item, '__module__', '?')}.{name}" if isinstance(name, str) else f"a {type(item).__name__}"


def _wired_name(what: str, name: object) -> str:
    try:
        return checked_name(what, name)
    except InvalidJob as exc:
        raise WiringError(f"{what} {exc.reason}") from None


def _checked_model(name: str, model: object) -> ArgsModel | None:
    if model is None or (isinstance(model, type) and issubclass(model, BaseModel)):
        return model
    raise WiringError(f"@handler({name!r}): args must be a pydantic model class, not {model!r}")


def _checked_retries(name: str, max_retries: object) -> int | None:
    if max_retries is None or (type(max_retries) is int and 0 <= max_retries <= MAX_RETRIES_LIMIT):
        return max_retries
    raise WiringError(f"@handler({name!r}): max_retries must be 0 to {MAX_RETRIES_LIMIT}, not {max_retries!r}")


def _checked_timeout(name: str, timeout: object) -> timedelta | None:
    match timeout:
        case None:
            return None
        case timedelta() if timeout > timedelta(0):
            return timeout
        case int() | float() if not isinstance(timeout, bool) and 0 < timeout < 10**9:
            return timedelta(seconds=timeout)
    raise WiringError(f"@handler({name!r}): timeout must be a positive number of seconds, not {timeout!r}")
