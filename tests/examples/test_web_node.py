"""The shop's web node as a process: what it takes, what it refuses and why, and what it does without its stores."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import create_engine, func, select

from examples.shop.order import CATALOGUE, Order
from examples.shop.tables import lines, movements, orders
from tests.servers import PostgresServer, RedisServer, free_port

ROOT = Path(__file__).resolve().parents[2]
ORDER = {
    "order": "A1",
    "name": "Ann Jansen",
    "email": "ann@example.org",
    "street": "Kaasmarkt 1",
    "postcode": "2801 AB",
    "town": "Gouda",
    "country": "NL",
    "articles": [{"article": "MUG-BLUE", "quantity": 2}, {"article": "MUG-BLUE", "quantity": 1}],
}


@contextmanager
def web_node(folder: Path, **environment: str) -> Iterator[httpx.Client]:
    """A client of a node that runs inside the block, and stops with code 0, having logged no trace."""
    port = free_port()
    command = [sys.executable, "-W", "error", "-m", "examples.shop.web", "--port", str(port)]
    known = {**os.environ, "SHOP_FOLDER": str(folder), **environment}
    with (
        subprocess.Popen(command, cwd=ROOT, env=known, stderr=subprocess.PIPE, text=True) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        try:
            _await(client, process)
            yield client
        finally:
            process.terminate()
            _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert "Traceback" not in said, said


def _await(client: httpx.Client, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            client.get("/")
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the web node does not answer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shop")


@pytest.fixture(scope="module")
def web(folder: Path) -> Iterator[httpx.Client]:
    """One node on SQLite for all tests that only talk to it."""
    with web_node(folder, WAGOE_JOBS__DB__URL=f"sqlite:///{folder / 'shop.sqlite'}") as client:
        yield client


def rows(url: str) -> Mapping[str, int]:
    """How many rows each of the shop's tables has, and how many jobs wait."""
    engine = create_engine(url)
    with engine.connect() as conn:
        counts = {
            table.name: conn.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (orders, lines, movements)
        }
        counts["jobs"] = conn.exec_driver_sql("SELECT count(*) FROM job_queue").scalar_one()
    engine.dispose()
    return counts


def order(number: str, **other: object) -> dict[str, object]:
    return {**ORDER, "order": number, **other}


def test_an_order_is_taken_with_both_its_jobs(web: httpx.Client):
    answer = web.post("/orders", json=order("B1"))
    assert (answer.status_code, answer.json()) == (201, {"order": "B1", "cents": 3 * CATALOGUE["MUG-BLUE"].cents})
    shown = web.get("/orders/B1").json()
    assert shown["lines"] == [{"title": "Mug, blue", "quantity": 2}, {"title": "Mug, blue", "quantity": 1}]
    assert {job["status"] for job in shown["jobs"].values()} == {"pending"}


def test_the_same_order_again_is_answered_as_before_and_adds_nothing(web: httpx.Client, folder: Path):
    first = web.post("/orders", json=order("C1"))
    before = rows(f"sqlite:///{folder / 'shop.sqlite'}")
    again = web.post("/orders", json=dict(reversed(order("C1").items())))
    assert (again.status_code, again.json()) == (200, first.json())
    assert rows(f"sqlite:///{folder / 'shop.sqlite'}") == before


def test_the_same_order_on_many_connections_at_once_is_one(web: httpx.Client, folder: Path):
    before = rows(f"sqlite:///{folder / 'shop.sqlite'}")
    with ThreadPoolExecutor(8) as pool:
        codes = [answer.status_code for answer in pool.map(lambda _: web.post("/orders", json=order("D1")), range(16))]
    assert sorted(codes) == [200] * 15 + [201]
    after = rows(f"sqlite:///{folder / 'shop.sqlite'}")
    assert {name: after[name] - before[name] for name in after} == {
        "shop_orders": 1,
        "shop_order_lines": 2,
        "shop_stock_movements": 1,
        "jobs": 2,
    }


def test_an_idempotency_key_stands_for_one_order(web: httpx.Client):
    key = {"Idempotency-Key": "basket 7"}
    assert web.post("/orders", json=order("E1"), headers=key).status_code == 201
    assert web.post("/orders", json=order("E1"), headers=key).status_code == 200
    other = web.post("/orders", json=order("E2"), headers=key)
    assert (other.status_code, other.json()["error"]) == (409, "another order was sent under this Idempotency-Key")
    assert web.get("/orders/E2").status_code == 404


def test_another_order_with_a_number_that_is_taken_is_refused(web: httpx.Client):
    web.post("/orders", json=order("F1"))
    answer = web.post("/orders", json=order("F1", town="Leiden"))
    assert (answer.status_code, answer.json()) == (409, {"error": "another order has the number F1"})
    assert web.get("/orders/F1").json()["town"] == "Gouda"


BAD = [
    ({"postcode": "28O1 AB"}, "postcode: '28O1 AB' is none of NL"),
    ({"articles": [{"article": "MUG-BLEU", "quantity": 1}]}, "articles: there is no MUG-BLEU: did you mean MUG-BLUE?"),
    ({"articles": [{"article": "SIEVE", "quantity": 0}]}, "articles.0.quantity: "),
    ({"articles": [{"article": "SIEVE", "quantity": "1"}]}, "articles.0.quantity: "),
    ({"articles": []}, "articles: "),
    ({"name": "Ann\r\nBcc: everyone@example.org"}, "name: must be one line without control characters"),
    ({"name": " "}, "name: must not be empty"),
    ({"street": "x" * 201}, "street: "),
    ({"email": "ann at example.org"}, "email: "),
    ({"email": "ann..jansen@example.org"}, "email: "),
    ({"email": "ann@-example.org"}, "email: "),
    ({"country": "nl"}, "country: "),
    ({"order": "-RF"}, "order: "),
    ({"order": "../../etc/passwd"}, "order: "),
    ({"order": "A1\n"}, "order: "),
    ({"extra": 1}, "extra: "),
]


@pytest.mark.parametrize(("change", "reason"), BAD, ids=lambda value: json.dumps(value)[:30])
def test_a_bad_order_is_refused_with_its_reason_and_leaves_nothing(
    web: httpx.Client, folder: Path, change: dict[str, object], reason: str
):
    before = rows(f"sqlite:///{folder / 'shop.sqlite'}")
    answer = web.post("/orders", json=order("G1") | change)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(reason)
    assert rows(f"sqlite:///{folder / 'shop.sqlite'}") == before


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"", 400), (b'{"order": "\xff"}', 400), (b"[]", 422), (b'"' + b"x" * 70_000 + b'"', 413)],
    ids=["torn", "empty", "not UTF-8", "no object", "too long"],
)
def test_a_body_that_is_no_order_is_refused(web: httpx.Client, body: bytes, status: int):
    answer = web.post("/orders", content=body)
    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "kind", ["image/png", "application/x-www-form-urlencoded", "text/plain; a=application/json", ""]
)
def test_a_body_that_calls_itself_something_else_is_refused(web: httpx.Client, kind: str):
    answer = web.post("/orders", content=json.dumps(order("X1")), headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()) == (415, {"error": "the Content-Type must be application/json"})
    assert web.get("/orders/X1").status_code == 404


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "Application/JSON; charset=utf-8"}], ids=["without", "named"])
def test_a_body_may_be_called_json_or_nothing(web: httpx.Client, headers: dict[str, str]):
    assert web.post("/orders", content=json.dumps(order("X2")), headers=headers).is_success


DEEP = "[" * 10_000 + "]" * 10_000
QUANTITIES = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "1.0",
    "-1",
    "0",
    "100",
    "9" * 400,
    "9" * 5000,
    "true",
    "null",
    DEEP,
]


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda text: text[:12])
def test_a_quantity_that_is_no_small_number_is_refused(web: httpx.Client, folder: Path, quantity: str):
    before = rows(f"sqlite:///{folder / 'shop.sqlite'}")
    answer = web.post("/orders", content=json.dumps(order("X3")).replace('"quantity": 2', f'"quantity": {quantity}'))
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]
    assert rows(f"sqlite:///{folder / 'shop.sqlite'}") == before


def test_a_name_that_stands_twice_is_refused(web: httpx.Client):
    twice = json.dumps(order("W1")).encode()[:-1]
    for more in (b', "town": "Delft"}', b', "order": "E1"}'):
        answer = web.post("/orders", content=twice + more)
        assert answer.status_code == 422
        assert answer.json()["error"].endswith(": is there more than once")
    assert web.get("/orders/W1").status_code == 404


@pytest.mark.parametrize(
    ("method", "address", "status"),
    [
        ("GET", "/nothing", 404),
        ("POST", "/orders/", 404),
        ("PUT", "/orders", 405),
        ("GET", "/orders/%00", 404),
        ("GET", "/orders/a1", 404),
    ],
)
def test_every_refusal_is_a_document(web: httpx.Client, method: str, address: str, status: int):
    answer = web.request(method, address)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_a_customer_who_goes_away_in_the_middle_leaves_no_trace(web: httpx.Client):
    with socket.create_connection((web.base_url.host, web.base_url.port or 0)) as customer:
        customer.sendall(b'POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Length: 900\r\n\r\n{"order"')
    assert web.get("/").status_code == 200


def test_a_report_is_enqueued_once_for_each_name(web: httpx.Client):
    first, again = (web.post("/reports", json={"name": "monday"}).json() for _ in range(2))
    assert (first["job"], first["duplicate"], again["duplicate"]) == (again["job"], False, True)
    assert web.post("/reports", json={"name": "../monday"}).status_code == 422


def test_every_address_is_known_by_its_format():
    assert Order.model_validate(order("A1", country="XA", postcode="-", town="Atlantis")).country == "XA"


def test_while_the_database_is_down_it_answers_503_and_takes_no_half_order(tmp_path: Path):
    with PostgresServer() as server, server.database() as url:
        with web_node(tmp_path, WAGOE_JOBS__DB__URL=url) as client:
            assert client.post("/orders", json=order("H1")).status_code == 201
            assert client.get("/orders/%00").status_code == 404
            server.kill()
            closed = client.post("/orders", json=order("H2"))
            assert (closed.status_code, closed.headers["retry-after"]) == (503, "1")
            assert "closed" in closed.json()["error"]
            assert client.get("/orders/H1").status_code == 503
            server.start()
            answers = [_until_taken(client, order(number)) for number in ("H2", "H1")]
            assert answers == [201, 200]
        assert rows(url) == {"shop_orders": 2, "shop_order_lines": 4, "shop_stock_movements": 2, "jobs": 4}


def _until_taken(client: httpx.Client, what: object) -> int:
    deadline = time.monotonic() + 30
    while (answer := client.post("/orders", json=what)).status_code == 503:
        assert time.monotonic() < deadline
    return answer.status_code


def test_an_order_that_redis_did_not_hear_of_is_handed_over_when_it_comes_again_and_at_the_start(tmp_path: Path):
    with RedisServer() as server, server.database() as url:
        redis = {"WAGOE_JOBS__PROVIDER": "redis", "WAGOE_JOBS__REDIS__URL": url}
        with web_node(tmp_path, **redis) as client:
            server.stop()
            assert client.post("/orders", json=order("I1")).status_code == 503
            assert client.post("/orders", json=order("I2")).status_code == 503
            server.start()
            assert _until_taken(client, order("I1")) == 200
            assert _jobs(client, "I1") == {"pending"}
            assert _jobs(client, "I2") == {None}
        with web_node(tmp_path, **redis) as client:
            assert _jobs(client, "I2") == {"pending"}
            assert client.post("/orders", json=order("I2")).status_code == 200


def _jobs(client: httpx.Client, number: str) -> set[str | None]:
    jobs = client.get(f"/orders/{number}").json()["jobs"]
    return {job and job["status"] for job in jobs.values()}
