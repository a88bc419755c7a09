"""Marks, registries, and what they refuse."""

import functools
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from wagoe_jobs.errors import InvalidJob, WiringError
from wagoe_jobs.ports import JobRegistry
from wagoe_jobs.registry import Handler, JobSpec, Registry, handler, handlers_of, nearest, refusal_of, spec_of


class Order(BaseModel):
    to: str


@handler("send-email", args=Order, queue="mail", max_retries=5, timeout=1.5)
def send_email(args: dict[str, str]) -> str:
    return args["to"]


@handler("greet")
async def greet(args: object, context: object) -> None: ...


class Shop:
    @handler("sell")
    def sell(self, args: object) -> object:
        return self

    async def __call__(self, args: object) -> None: ...


def test_a_mark_without_a_type_is_refused_with_what_to_write() -> None:
    def greet(args: object) -> None: ...

    with pytest.raises(WiringError, match=r'write @handler\("..."\) above .*greet'):
        handler(greet)  # type: ignore[arg-type]


def test_a_marked_function_stays_what_it_was_and_nothing_is_registered() -> None:
    assert send_email({"to": "ann"}) == "ann"
    assert Registry().job_types() == []


def test_an_entry_holds_what_the_worker_needs() -> None:
    entry = handlers_of(send_email)["send-email"]
    assert entry == Handler(
        type="send-email",
        function=send_email,
        is_async=False,
        wants_context=False,
        args_model=Order,
        queue="mail",
        max_retries=5,
        timeout=timedelta(seconds=1.5),
    )
    with pytest.raises(FrozenInstanceError):
        entry.queue = "other"  # type: ignore[misc]


def test_a_mapping_a_list_and_a_single_function_are_contributions() -> None:
    assert set(handlers_of({"a": lambda args: None, "b": send_email})) == {"a", "b"}
    assert set(handlers_of([send_email, greet])) == {"send-email", "greet"}
    assert set(handlers_of(iter((send_email,)))) == {"send-email"}
    assert set(handlers_of(greet)) == {"greet"}
    assert handlers_of([]) == handlers_of({}) == {}
    assert handlers_of({"b": send_email})["b"].type == "b"
    assert handlers_of({"b": send_email})["b"].queue == "mail"


def test_a_method_is_the_handler_of_its_own_object() -> None:
    shop = Shop()
    assert handlers_of([shop.sell])["sell"].function(None) is shop


def test_an_object_is_marked_by_its_class_or_by_what_is_called() -> None:
    @handler("pack", args=Order, queue="slow")
    class Packer:
        def __call__(self, args: object) -> None: ...

    class Sender:
        @handler("send", args=Order, queue="slow")
        def __call__(self, args: object) -> None: ...

    for entries in (handlers_of([Packer(), Sender()]), handlers_of({"pack": Packer(), "send": Sender()})):
        assert {name: (entry.args_model, entry.queue) for name, entry in entries.items()} == {
            "pack": (Order, "slow"),
            "send": (Order, "slow"),
        }
    assert spec_of(Sender()).type == "send"


TAKES_CONTEXT: list[tuple[Callable[..., object], bool]] = [
    (lambda args: None, False),
    (lambda args, context: None, True),
    (lambda args, context=None: None, True),
    (lambda args, i=3: None, False),
    (lambda args, *rest: None, False),
    (lambda *rest: None, False),
    (lambda args, *, key=1: None, False),
    (lambda args, context, extra=1: None, True),
    (functools.partial(lambda shop, args: None, 1), False),
    (functools.partial(lambda args, context, shop: None, shop=1), True),
    (Shop(), False),
    (print, False),
    (len, False),
    ([].append, False),
]


@pytest.mark.parametrize(("function", "wants"), TAKES_CONTEXT, ids=range(len(TAKES_CONTEXT)))
def test_a_second_parameter_asks_for_the_context(function: Callable[..., object], wants: bool) -> None:
    assert handlers_of({"x": function})["x"].wants_context is wants


async def _async(args: object) -> None: ...


class Oddities:
    @staticmethod
    async def static(args: object) -> None: ...

    @classmethod
    def of_class(cls, args: object, context: object) -> None: ...

    def many(self, args: object) -> Any:
        yield 1


class Many:
    def __call__(self, args: object) -> Any:
        yield 1


class ManyLater:
    async def __call__(self, args: object) -> Any:
        yield 1


ASYNC = [
    _async,
    Shop(),
    functools.partial(_async),
    functools.partial(Shop()),
    Oddities.static,
    Oddities.__dict__["static"],
    functools.partial(functools.partial(Oddities.__dict__["static"])),
]


@pytest.mark.parametrize("function", ASYNC, ids=range(len(ASYNC)))
def test_async_callables_are_known_as_such(function: Callable[..., object]) -> None:
    assert handlers_of({"x": function})["x"].is_async


def _generator(args: object) -> Any:
    yield 1


async def _async_generator(args: object) -> Any:
    yield 1


REFUSED = [
    (5, "a int is not callable"),
    (None, "NoneType is not callable"),
    ("examples.shop", "contribute the function, not its name"),
    (lambda args: None, "not marked with @handler"),
    ([len], "builtins.len is not marked"),
    ([send_email, 7], "a int is not callable"),
    ([send_email, send_email], "'send-email' has two handlers: .*send_email and .*send_email"),
    ({"x": "examples.shop:run"}, "'x' is not callable"),
    ({"x": None}, "'x' is not callable"),
    ({"": send_email}, "1 to 200 characters"),
    ({" x": send_email}, "1 to 200 characters"),
    ({"x\n": send_email}, "1 to 200 characters"),
    ({3: send_email}, "must be a str"),
    ({"x" * 201: send_email}, "1 to 200 characters"),
    ({"x": lambda: None}, r"'x' must take \(args\) or \(args, context\)"),
    ({"x": lambda a, b, c: None}, r"not \(a, b, c\)"),
    ({"x": lambda args, *, key: None}, r"must take"),
    ({"x": lambda **named: None}, r"must take"),
    ({"x": _generator}, "is a generator"),
    ({"x": _async_generator}, "is a generator: calling it would run nothing; loop over it in a function"),
    ({"x": functools.partial(_generator)}, "is a generator"),
    ({"x": functools.partial(_async_generator)}, "is a generator"),
    ({"x": Oddities().many}, "is a generator"),
    ({"x": staticmethod(_generator)}, "is a generator"),
    ({"x": Many()}, "is a generator"),
    ({"x": ManyLater()}, "is a generator"),
    ({"x": functools.partial(Many())}, "is a generator"),
    ({"x": Shop}, "'x' is a class, Shop: contribute an object made of it"),
    ({"x": Oddities.__dict__["of_class"]}, "'x' is not callable"),
    ({"x": Oddities.many}, "is a generator"),
    ({"x": getattr}, "does not tell its parameters"),
]


@pytest.mark.parametrize(("contribution", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_a_handler_is_refused_by_name(contribution: object, reason: str) -> None:
    with pytest.raises(WiringError, match=reason):
        handlers_of(contribution)
    with pytest.raises(WiringError, match=reason):
        Registry(contribution)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"type": ""}, "type must be 1 to 200"),
        ({"type": None}, "type must be a str"),
        ({"queue": ""}, "queue must be 1 to 200"),
        ({"args": dict}, "pydantic model class"),
        ({"args": Order(to="x")}, "pydantic model class"),
        ({"max_retries": -1}, "max_retries must be 0 to 25"),
        ({"max_retries": 26}, "max_retries"),
        ({"max_retries": True}, "max_retries"),
        ({"max_retries": 1.0}, "max_retries"),
        ({"timeout": 0}, "timeout must be a positive"),
        ({"timeout": timedelta(0)}, "timeout"),
        ({"timeout": timedelta(seconds=-1)}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"timeout": "5"}, "timeout"),
    ],
)
def test_a_mark_that_cannot_be_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(WiringError, match=reason):
        handler(**({"type": "x"} | options))


@pytest.mark.parametrize("target", [5, "name", None, [].append])
def test_only_what_can_be_called_and_marked_is_marked(target: Any) -> None:
    with pytest.raises(WiringError, match="@handler"):
        handler("x")(target)


def test_a_registry_changes_at_once() -> None:
    registry = Registry({"a": send_email})
    registry.register("b", greet)
    assert registry.job_types() == ["a", "b"]
    entry = registry.handler_for("b")
    assert entry is not None
    assert (entry.type, entry.is_async) == ("b", True)
    registry.register("b", send_email)
    replaced = registry.handler_for("b")
    assert replaced is not None
    assert replaced.function is send_email
    assert registry.unregister("b")
    assert not registry.unregister("b")
    assert registry.handler_for("b") is None
    with pytest.raises(WiringError, match="'c' is not callable"):
        registry.register("c", 5)
    with pytest.raises(WiringError, match="characters"):
        registry.register("", greet)
    assert registry.job_types() == ["a"]


def test_a_registry_is_the_port() -> None:
    port: JobRegistry = Registry()
    assert port.job_types() == []


def test_registrations_from_many_threads_all_count() -> None:
    registry = Registry()
    ready = threading.Barrier(8)

    def register(part: int) -> None:
        ready.wait()
        for n in range(50):
            registry.register(f"{part}-{n}", greet)

    threads = [threading.Thread(target=register, args=(part,)) for part in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(registry.job_types()) == 400


def test_an_enqueuer_asks_for_the_spec_of_a_type_a_function_or_an_entry() -> None:
    spec = JobSpec(type="send-email", args_model=Order, queue="mail", max_retries=5, timeout=timedelta(seconds=1.5))
    assert spec_of(send_email) == spec
    assert spec_of(handlers_of(send_email)["send-email"]) == spec
    assert spec_of("other") == JobSpec(type="other")
    with pytest.raises(InvalidJob, match="neither a job type nor marked"):
        spec_of(print)


def test_the_nearest_name_is_suggested() -> None:
    assert nearest("send-emial", ["send-email", "greet"]) == "; did you mean 'send-email'?"
    assert nearest("zzz", ["send-email"]) == ""


def test_a_model_names_what_it_refuses_and_never_quotes_it() -> None:
    assert refusal_of(Order, {"to": "ann"}) is None
    refusal = refusal_of(Order, {"to": 12345})
    assert refusal is not None
    assert refusal.path == "args['to']"
    assert "12345" not in str(refusal)
    assert refusal_of(Order, ["not a mapping"]) is not None


def test_a_model_names_the_first_wrong_values_and_counts_the_rest() -> None:
    class Many(BaseModel):
        a: int
        b: int
        c: int
        d: int
        e: int

    missing = {"c": 3, "d": 4, "e": 5}
    assert str(refusal_of(Many, missing)) == "args['a']: Field required; args['b']: Field required"
    assert str(refusal_of(Many, {})).endswith("; args['c']: Field required (and 2 more)")
