"""The web node: takes orders over HTTP, enqueues, and runs nothing (count = 0).

    python -m examples.shop.web --port 8000      or any ASGI server: examples.shop.web:app

    POST /orders       an order as JSON: 201 taken, 200 taken before, 400 no JSON, 408 too slow, 409 another order has
                       its number or its Idempotency-Key, 413 too long, 415 another Content-Type than
                       JSON, 422 a bad order, 503 closed: come again after Retry-After
    GET  /orders/A1    the order, and what its jobs are at
    POST /reports      {"name": "sales"}: enqueues a report, once for each name
    GET  /             what there is

An answer always says what is wrong as {"error": ...}. No answer at all means: send the same again.
"""

import argparse
import asyncio
import json
import logging
import signal
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import FrameType
from typing import TypeVar

import uvicorn
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from containers.web import container
from examples.shop import receipts, reports, stock
from examples.shop.checkout import AWAY, Checkout, Closed, Conflict, reason_of
from examples.shop.database import Database
from examples.shop.order import Order, OrderNumber
from examples.shop.reports import ReportName
from wagoe_jobs.client import Jobs
from wagoe_jobs.node import running

M = TypeVar("M", bound=BaseModel)

LONGEST_BODY = 64 * 1024
BODY_SECONDS = 20.0
LONGEST_REASON = 300
KEY_LIMIT = 200
RETRY_AFTER = "1"
JSON = "application/json"
log = logging.getLogger("examples.shop.web")


class Refusal(Exception):
    """What is wrong with a request, as it is answered."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def post_order(request: Request) -> Response:
    order = read(Order, await _body(request))
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= KEY_LIMIT:
        raise Refusal(400, f"the Idempotency-Key must have 1 to {KEY_LIMIT} characters")
    checkout: Checkout = request.app.state.checkout
    taken = await run_in_threadpool(checkout.place, order, key)
    return JSONResponse({"order": taken.number, "cents": taken.cents}, 201 if taken.new else 200)


async def get_order(request: Request) -> Response:
    database: Database = request.app.state.database
    jobs: Jobs = request.app.state.jobs
    number = request.path_params["number"]
    placed = await run_in_threadpool(database.order, number) if _is_number(number) else None
    if placed is None:
        raise Refusal(404, f"there is no order {number}")
    work = {type: await jobs.aget(database.job_id(type, number)) for type in (receipts.TYPE, stock.TYPE)}
    told = {type: None if job is None else {"id": str(job.id), "status": job.status} for type, job in work.items()}
    goods = [{"title": title, "quantity": quantity} for title, quantity, _ in placed.lines]
    return JSONResponse({"order": number, "town": placed.order["town"], "lines": goods, "jobs": told})


async def post_report(request: Request) -> Response:
    name = read(ReportName, await _body(request)).name
    database: Database = request.app.state.database
    jobs: Jobs = request.app.state.jobs
    made = await jobs.aenqueue(reports.TYPE, {"name": name}, key=f"{database.id} {name}")
    return JSONResponse({"job": str(made), "duplicate": made.duplicate}, 202)


async def get_index(request: Request) -> Response:
    return Response(__doc__, media_type="text/plain")


def read(model: type[M], body: bytes) -> M:
    """The body as the model has it. Raises Refusal with the first thing that is wrong, by its path."""
    try:
        made = model.model_validate_json(body)
        json.loads(body, object_pairs_hook=_each_once)
        return made
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        path = ".".join(str(step) for step in first["loc"])
        reason = first["msg"].removeprefix("Value error, ")
        status = 400 if first["type"] == "json_invalid" else 422
        raise Refusal(status, f"{path}: {reason}" if path else reason) from None


def _each_once(pairs: list[tuple[str, object]]) -> None:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise Refusal(422, f"{max(names, key=names.count)}: is there more than once")


def _is_number(text: str) -> bool:
    """Whether an order may have this number; a database need not take every other text."""
    try:
        OrderNumber(order=text)
    except ValidationError:
        return False
    return True


async def _body(request: Request) -> bytes:
    """Raises Refusal. A request without a Content-Type is taken as JSON."""
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind != JSON:
        raise Refusal(415, f"the Content-Type must be {JSON}")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LONGEST_BODY:
                    raise Refusal(413, f"a request has at most {LONGEST_BODY:,} bytes")
    except TimeoutError:
        raise Refusal(408, f"a request must be there within {BODY_SECONDS:.0f} s") from None
    except ClientDisconnect:  # nobody reads this answer; without it the log would have a trace
        raise Refusal(400, "the request ended too early") from None
    return bytes(body)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return JSONResponse({"error": str(error)[:LONGEST_REASON]}, error.status)


def _unknown(_: Request, error: Exception) -> Response:
    """What the router refuses: an address, or a method."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def _broken(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": "the web node is broken: see its log"}, 500)


def _conflict(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 409)


def _closed(_: Request, error: Exception) -> Response:
    log.warning("a request is turned away: %s", reason_of(error))
    return JSONResponse({"error": "the shop is closed for the moment"}, 503, {"Retry-After": RETRY_AFTER})


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    async with running(container) as node:
        app.state.database = node.database()
        app.state.jobs = node.jobs.client()
        app.state.checkout = node.checkout()
        await run_in_threadpool(app.state.checkout.hand_over_rest)
        yield


app = Starlette(
    routes=[
        Route("/", get_index),
        Route("/orders", post_order, methods=["POST"]),
        Route("/orders/{number}", get_order),
        Route("/reports", post_report, methods=["POST"]),
    ],
    exception_handlers={
        Refusal: _refused,
        Conflict: _conflict,
        HTTPException: _unknown,
        Exception: _broken,
        **dict.fromkeys((Closed, *AWAY), _closed),
    },
    lifespan=_lifespan,
)
app.router.redirect_slashes = False  # a path that is not there is a 404, no redirect to one that is


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.shop.web", description="Run the shop's web node.")
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args(arguments).port
    logging.basicConfig(format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a node that is started again takes its old port
    door.bind(("127.0.0.1", port))
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=5, backlog=512)
    )
    # the end that was asked for is no failure: the server raises the signal once more when it has stopped politely
    signal.signal(signal.SIGTERM, _end)
    server.run(sockets=[door])
    if not server.started:
        raise SystemExit(1)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main()
