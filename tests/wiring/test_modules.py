"""What a module may be and add, and that what does not fit is refused by name before anything is opened."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from dependency_injector import containers, providers
from pydantic import BaseModel

from tests.wiring.parts import Recorder, module, nothing, system
from wagoe_jobs import (
    Contribution,
    JobsDisabled,
    JobsError,
    SettingsError,
    WiringError,
    collected,
    handler,
    ref,
    running,
)
from wagoe_jobs.containers import JobsContainer


@handler("a")
def do_a(args: object) -> str:
    return "a"


@handler("b")
def do_b(args: object) -> str:
    return "b"


class Configured:
    """A module that is an object: it adds what it is made with."""

    def __init__(self, **parts: Any) -> None:
        self.parts = parts
        self.asked: list[tuple[object, frozenset[str]]] = []

    def configure(self, settings: object, enabled: frozenset[str]) -> Contribution:
        self.asked.append((settings, enabled))
        return Contribution(**self.parts)


def named(name: str, **parts: Any) -> Configured:
    return type(name, (Configured,), {"__module__": "shop"})(**parts)  # type: ignore[no-any-return]


class Greeter:
    """A handler that is an object."""

    def __call__(self, args: object) -> str:
        return "hello"


HANDLERS: list[tuple[str, Callable[[], object], list[str]]] = [
    ("a mapping", lambda: {"a": nothing, "b": nothing}, ["a", "b"]),
    ("a list of marked functions", lambda: [do_a, do_b], ["a", "b"]),
    ("a tuple", lambda: (do_a,), ["a"]),
    ("a generator", lambda: (each for each in [do_a, do_b]), ["a", "b"]),
    ("one marked function", lambda: do_a, ["a"]),
    ("a mapping to objects", lambda: {"greet": Greeter()}, ["greet"]),
    ("several", lambda: [{"x": nothing}, [do_a], do_b, providers.Object({"y": nothing})], ["a", "b", "x", "y"]),
    ("a provider of a mapping", lambda: providers.Dict({"a": nothing}), ["a"]),
    ("a provider of a list", lambda: providers.List(do_a, do_b), ["a", "b"]),
    ("a provider of providers", lambda: providers.Dict({"greet": providers.Singleton(Greeter)}), ["greet"]),
    ("a mapping of providers", lambda: {"greet": providers.Singleton(Greeter), "a": nothing}, ["a", "greet"]),
    ("a provider that only building tells", lambda: providers.Callable(lambda: [do_a, do_b]), ["a", "b"]),
    ("nothing", lambda: (), []),
]


@pytest.mark.parametrize(("contributed", "types"), [case[1:] for case in HANDLERS], ids=[case[0] for case in HANDLERS])
def test_handlers_come_in_every_documented_shape(contributed: Callable[[], object], types: list[str]) -> None:
    for made in (module("shop", job_handlers=contributed()), Configured(job_handlers=contributed())):
        with running(system(made)) as up:
            assert up.job_registry().job_types() == types


def test_modules_are_named_in_settings_or_given_as_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_of_tests.py").write_text(
        "from wagoe_jobs import Contribution\n"
        "class Bag:\n"
        "    def configure(self, settings, enabled):\n"
        "        return Contribution(job_handlers={'bag': print})\n"
        "bag = Bag()\n"
        "job_handlers = {'shop': print}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    container = JobsContainer(
        settings={"modules": ["shop_of_tests", "shop_of_tests.bag"], "jobs": {}},
        modules=[module("m", job_handlers=[do_a])],
    )
    assert container.job_registry().job_types() == ["a", "bag", "shop"]
    assert [each.name for each in container.assembly().modules] == ["shop_of_tests", "shop_of_tests.bag", "m"]


def test_a_container_is_a_module_and_says_by_name_what_it_needs() -> None:
    class Receipts(containers.DeclarativeContainer):
        job_queue: Any = providers.Dependency()
        config = providers.Configuration()
        printer = providers.Singleton(lambda queue, size: (queue, size), job_queue, config.size)
        job_handlers = providers.Dict({"print": providers.Factory(Greeter)})

    container = JobsContainer(settings={"jobs": {}, "Receipts": {"size": 3}}, modules=[Receipts])
    with running(container) as up:
        assert up.job_registry().job_types() == ["print"]
        queue, size = up.providers[f"{__name__}.{Receipts.__qualname__}.printer"]()
        assert (queue, size) == (up.job_queue(), 3)


def test_configure_gets_the_modules_own_table_and_what_is_enabled() -> None:
    one = named("one")
    system(one, one={"kebab-key": 1}).assembly()
    system(one, jobs=None).assembly()
    assert one.asked == [({"kebab-key": 1}, frozenset({"one", "jobs"})), ({}, frozenset())]


def test_a_module_may_name_its_table_and_say_what_it_holds() -> None:
    class Size(BaseModel):
        width: int

    one = named("one")
    one.settings_table, one.settings_model = "my-shop", Size  # type: ignore[attr-defined]
    system(one, **{"my-shop": {"width": 3}}).assembly()
    assert one.asked[0][0] == Size(width=3)
    with pytest.raises(SettingsError) as caught:
        system(one, my_shop={"width": "s3cret"}).assembly()
    assert caught.value.path == "my_shop.width"
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("tables", "path", "reason"),
    [
        ({"sohp": {}}, "sohp", "did you mean shop?"),
        ({"job": {}}, "job", "did you mean jobs?"),
        ({"zzzzz": {}}, "zzzzz", "no module claims this table"),
        ({"plain": {}}, "plain", "no module claims this table"),  # a module without configure would never read it
    ],
)
def test_a_table_that_no_module_claims_is_refused(tables: dict[str, object], path: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason) as caught:
        system(named("shop"), module("plain", job_handlers=()), **tables).assembly()
    assert caught.value.path == path


def test_a_table_that_two_modules_claim_is_refused_with_both() -> None:
    one, other = named("one"), named("other")
    one.settings_table = other.settings_table = "shop"  # type: ignore[attr-defined]
    system(one, other).assembly()
    with pytest.raises(WiringError, match=r"claimed by shop\.one and by shop\.other"):
        system(one, other, shop={}).assembly()


def test_modules_offer_collections_of_their_own() -> None:
    web = named("web", providers={"routes": collected("routes")}, contributes={"routes": ["/"]})
    shop = named(
        "shop",
        providers={"till": providers.Singleton(list)},
        contributes={"routes": [ref("till"), "/shop"], "job_handlers": {"x": nothing}},
    )
    with running(system(web, shop)) as up:
        assert up.providers["routes"]() == ["/", up.providers["till"](), "/shop"]
        assert up.job_registry().job_types() == ["x"]


def test_components_refer_to_the_system_and_to_one_another() -> None:
    lent = object()
    shop = named("shop", providers={"desk": providers.Singleton(dict, queue=ref("job_queue"), pen=ref("pen"))})
    tools = named("tools", providers={"pen": providers.Singleton(list, ref("ink"))}, requires=["engine"])
    ink = named("ink", providers={"ink": providers.Object((1,))})
    with running(system(shop, tools, ink, engine=lent)) as up:
        assert up.providers["desk"]() == {"queue": up.job_queue(), "pen": [1]}


def test_handlers_reach_components_by_reference() -> None:
    shop = named(
        "shop",
        providers={"till": providers.Singleton(list, (1, 2))},
        job_handlers={"count": providers.Factory(lambda till: lambda args: len(till), ref("till"))},
    )
    with running(system(shop)) as up:
        done = up.client().wait(up.client().enqueue("count"), timeout=10)
        assert done is not None
        assert done.result == 2


def test_an_embedded_container_reaches_what_the_application_has() -> None:
    shop = named("shop", providers={"desk": providers.Singleton(dict, pen=ref("pen"))})

    class App(containers.DeclarativeContainer):
        pen = providers.Singleton(object)
        jobs = providers.Container(JobsContainer, settings={"jobs": {}}, modules=providers.Object([shop]))

    app = App()
    with running(app):
        assert app.jobs.desk() == {"pen": app.pen()}


class NotCallable:
    pass


def circle() -> Configured:
    return named("ring", providers={"x": providers.Singleton(list, ref("y")), "y": providers.Singleton(list, ref("x"))})


REFUSED: list[tuple[str, Callable[[], list[object]], str]] = [
    ("a type of two modules", lambda: [named("one", job_handlers=[do_a]), named("two", job_handlers={"a": nothing})],
     r"job type 'a' is contributed by shop\.one and by shop\.two"),
    ("a type of two modules in providers", lambda: [
        named("one", job_handlers=providers.Dict({"a": nothing})), named("two", job_handlers=providers.List(do_a))],
     r"job type 'a' is contributed by shop\.one and by shop\.two"),
    ("a type of two modules through a collection", lambda: [
        named("one", contributes={"job_handlers": [do_a]}), named("two", job_handlers=[do_a])],
     r"job type 'a' is contributed by shop\.one and by shop\.two"),
    ("a type twice in one", lambda: [named("one", job_handlers=[{"a": nothing}, do_a])],
     r"shop\.one: job type 'a' is contributed twice"),
    ("not callable", lambda: [named("one", job_handlers={"a": "do_a"})], r"shop\.one: .*'a' is not callable"),
    ("not callable in a provider", lambda: [named("one", job_handlers=providers.Dict({"a": NotCallable()}))],
     r"shop\.one: .*'a' is not callable"),
    ("not marked", lambda: [named("one", job_handlers=[nothing])], r"shop\.one: .*nothing is not marked"),
    ("no import", lambda: ["no_such_module_at_all"], r"no_such_module_at_all: the module cannot be imported"),
    ("no import below", lambda: ["tests.wiring.no_such"], r"tests\.wiring\.no_such: the module cannot be imported"),
    ("no module", lambda: [5], r"builtins\.int: neither configure nor job_handlers"),
    ("an empty module", lambda: [module("bare")], r"bare: neither configure nor job_handlers"),
    ("twice the same", lambda: ["tests.wiring.handlers_of_tests", "tests.wiring.handlers_of_tests"], "given twice"),
    ("no contribution", lambda: [type("odd", (), {"__module__": "shop", "configure": lambda *_: {}})()],
     r"shop\.odd: configure must return a Contribution, not dict"),
    ("configure fails", lambda: [type("odd", (), {"__module__": "shop", "configure": lambda *_: 1 / 0})()],
     r"shop\.odd: configure failed: ZeroDivisionError"),
    ("a missing reference", lambda: [named("one", providers={"x": providers.Singleton(list, ref("till"))})],
     r"till: needed by shop\.one, but nobody provides it"),
    ("a missing reference of a handler",
     lambda: [named("one", job_handlers={"a": providers.Singleton(Greeter, ref("till"))})],
     r"till: needed by shop\.one, but nobody provides it"),
    ("a missing reference deep down", lambda: [
        named("one", providers={"x": providers.Singleton(list, providers.List(providers.Factory(list, ref("till"))))})],
     r"till: needed by shop\.one, but nobody provides it"),
    ("a missing requirement", lambda: [named("one", requires=["till"])], r"till: needed by shop\.one"),
    ("an input that was not passed", lambda: [named("one", requires=["engine"])], r"engine: needed by shop\.one"),
    ("a circle", lambda: [circle()], r"a circle of references: x -> y -> x"),
    ("a circle of one", lambda: [named("ring", providers={"x": providers.Singleton(list, ref("x"))})],
     r"a circle of references: x -> x"),
    ("a circle through the workers",
     lambda: [named("ring", job_handlers={"a": providers.Singleton(Greeter, ref("job_workers"))})],
     r"a circle of references: job_registry -> job_workers -> job_registry|job_workers -> job_registry -> job_workers"),
    ("a name of the system", lambda: [named("one", providers={"job_queue": providers.Object(1)})],
     r"job_queue: provided by the system itself and by shop\.one"),
    ("a name of another", lambda: [
        named("one", providers={"x": providers.Object(1)}), named("two", providers={"x": providers.Object(1)})],
     r"x: provided by shop\.one and by shop\.two"),
    ("no provider", lambda: [named("one", providers={"x": 5})], r"shop\.one: providers\['x'\] must be"),
    ("later capabilities", lambda: [named("one", recurring={"a": {"cron": "0 2 * * *"}})],
     r"shop\.one: recurring: not part of this version"),
    ("later policies", lambda: [named("one", retention={"jobs/x": nothing})], r"shop\.one: retention: not part of"),
]  # fmt: skip


@pytest.mark.parametrize(("modules", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_does_not_fit_is_refused_by_name_before_anything_opens(
    modules: Callable[[], list[object]], reason: str
) -> None:
    recorder = Recorder()
    spy = named("spy", providers={"spy": recorder.resource("spy")})
    container = system(spy, *modules())
    with pytest.raises(WiringError, match=reason), running(container):
        pytest.fail("booted")
    assert recorder.events == []
    assert not container.providers["jobs_runtime"].initialized  # type: ignore[attr-defined]


def test_a_circle_is_refused_without_a_boot_and_outside_of_modules_too() -> None:
    with pytest.raises(WiringError, match="a circle of references: x -> y -> x"):
        system(circle()).job_queue()

    class App(containers.DeclarativeContainer):
        one: Any = providers.Singleton(list)
        two: Any = providers.Singleton(list, one)
        jobs = providers.Container(JobsContainer, settings={"jobs": {}})

    app = App()
    app.one.add_args(app.two)
    with pytest.raises(WiringError, match="a circle of references: one -> two -> one"), running(app):
        pytest.fail("booted")


def test_a_module_whose_code_fails_is_named_with_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "failing_of_tests.py").write_text("import nowhere_to_be_found\n")
    (tmp_path / "dividing_of_tests.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name, cause in [("failing_of_tests", ModuleNotFoundError), ("dividing_of_tests", ZeroDivisionError)]:
        with pytest.raises(WiringError, match=name) as caught:
            system(name).assembly()
        assert isinstance(caught.value.__cause__, cause)
        assert name not in sys.modules
    with pytest.raises(WiringError, match="nowhere_to_be_found"):
        system("failing_of_tests").assembly()


def test_a_clash_that_only_building_tells_fails_the_boot_and_closes_what_was_opened() -> None:
    recorder = Recorder()
    one = named("one", job_handlers=providers.Callable(lambda: [do_a]), providers={"till": recorder.resource("till")})
    two = named("two", job_handlers=providers.Callable(lambda: {"a": nothing}))
    container = system(one, two)
    with pytest.raises(WiringError, match=r"'a' is contributed by shop\.one and by shop\.two"), running(container):
        pytest.fail("booted")
    assert recorder.events == ["+till", "-till"]
    assert not container.providers["jobs_runtime"].initialized  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["tenant_service", "metrics", "error_reporting", "on_outcome"])
def test_an_input_that_nothing_would_use_is_refused(name: str) -> None:
    with pytest.raises(WiringError, match=f"{name}: .* not part of this version"):
        system(**{name: object()}).assembly()


@pytest.mark.parametrize("settings", [5, "jobs.toml", [("jobs", {})]])
def test_settings_that_are_none_are_refused(settings: object) -> None:
    with pytest.raises(WiringError, match="settings: must be Settings or a mapping"):
        JobsContainer(settings=settings).assembly()
    with pytest.raises(WiringError, match="modules: must be a list"):
        JobsContainer(modules="shop").assembly()


def test_without_a_jobs_table_the_rest_boots_and_job_keys_raise() -> None:
    recorder = Recorder()
    shop = named("shop", providers={"till": recorder.resource("till")}, job_handlers=[do_a])
    container = system(shop, jobs=None)
    with running(container) as up:
        assert recorder.events == ["+till"]
        assert up.assembly().job_handlers == ()
        assert "jobs" not in shop.asked[0][1]
        for key in JOB_KEYS:
            with pytest.raises(JobsDisabled):
                up.providers[key]()
            with pytest.raises(JobsDisabled), running(container, only=[key]) as half:
                half.providers[key]()
    assert recorder.events == ["+till", "-till"]


JOB_KEYS = [
    "jobs", "jobs_runtime", "job_queue", "job_store", "job_stats", "idempotency_store", "job_scheduler",
    "job_registry", "job_workers", "job_tenant_runner", "job_dead_letter_retention", "client",
]  # fmt: skip


def test_a_module_that_needs_jobs_without_asking_is_named() -> None:
    eager = named("eager", providers={"x": providers.Singleton(list, ref("job_queue"))})
    with pytest.raises(WiringError, match="job_queue: a module needs it, but jobs are not enabled"):
        system(eager, jobs=None).assembly()

    class Careful:
        def configure(self, settings: Mapping[str, object], enabled: frozenset[str]) -> Contribution:
            return Contribution(
                providers={"x": providers.Singleton(list, ref("job_queue"))} if "jobs" in enabled else {}
            )

    with running(system(Careful(), jobs=None)):
        pass


def test_every_refusal_is_one_of_ours() -> None:
    assert issubclass(WiringError, JobsError)


@pytest.fixture(autouse=True)
def no_module_is_left_behind() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.endswith("_of_tests"):
            del sys.modules[name]
