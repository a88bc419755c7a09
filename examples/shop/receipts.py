"""The module of receipts: a mail for each order, written as a file.

A job runs at least once, so a second run must not hurt: the file's name and text follow from the order, and it
is put in its place whole. The log of runs only counts, so that a reader can see every run.
"""

from collections.abc import Mapping
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from typing import Any

from dependency_injector import providers
from pydantic import BaseModel, ConfigDict

from examples.shop.carrier import Carrier, CarrierBusy, NoCarrier
from examples.shop.database import Database, Placed
from examples.shop.order import OrderNumber
from examples.shop.places import Places, until_it_can_be_written, write_whole
from wagoe_jobs import Contribution, Failure, JobContext, Snooze, Success, handler, ref

TYPE = "write-receipt"
MAX_RETRIES = 3
NO_CARRIER = "no-carrier"
UNFOLDED = SMTP.clone(max_line_length=998)
"""The longest lines that mail may have: a quoted name that is folded loses its quotes, and may name a reader more."""


class ReceiptSettings(BaseModel):
    """The table [receipts]."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sender: str = "shop@example.org"


class Receipts:
    """Writes receipts; what it needs is given to it."""

    def __init__(self, database: Database, places: Places, carrier: Carrier, sender: str) -> None:
        self._database = database
        self._places = places
        self._carrier = carrier
        self._sender = sender

    @handler(TYPE, args=OrderNumber, max_retries=MAX_RETRIES, timeout=30)
    def write(self, args: Mapping[str, str], context: JobContext) -> Success | Failure | Snooze:
        try:
            self._note_run(args["order"], context.attempt)
            return self._written(args["order"])
        except OSError as error:
            return until_it_can_be_written(error)

    def _written(self, number: str) -> Success | Failure:
        placed = self._database.order(number)
        if placed is None:
            return Failure(f"there is no order {number}", type="no-order", retry=False)
        try:
            parcel = self._carrier.book(number, placed.order["street"], placed.order["country"])
        except NoCarrier as refusal:
            return Failure(str(refusal), type=NO_CARRIER, retry=False)
        except CarrierBusy as refusal:
            return Failure(str(refusal), type="carrier-busy")
        file = self._places.receipt(number)
        write_whole(file, receipt(placed, parcel, self._sender).as_bytes())
        return Success({"file": file.name, "parcel": parcel})

    def _note_run(self, number: str, attempt: int) -> None:
        self._places.root.mkdir(parents=True, exist_ok=True)
        with self._places.runs.open("a", encoding="utf-8") as log:
            log.write(f"{number} {attempt}\n")


def receipt(placed: Placed, parcel: str, sender: str) -> EmailMessage:
    """The mail; equal for equal orders."""
    order = placed.order
    total = sum(quantity * cents for _, quantity, cents in placed.lines)
    mail = EmailMessage(policy=UNFOLDED if order["name"].isascii() else SMTP)
    mail["From"] = sender
    mail["To"] = Address(display_name=_undecoded(order["name"]), addr_spec=order["email"])
    mail["Subject"] = f"Your order {order['number']}"
    mail["Date"] = formatdate(order["placed_s"], usegmt=True)
    mail["Message-ID"] = f"<{order['number']}@{sender.rpartition('@')[2]}>"
    goods = [f"{quantity:3} x {title:<24} {_euros(quantity * cents):>10}" for title, quantity, cents in placed.lines]
    address = [order["name"], order["street"], f"{order['postcode']} {order['town']}", order["country"]]
    total_line = f"{'':6}{'together':<24} {_euros(total):>10}"
    mail.set_content("\n".join([*goods, total_line, "", f"Parcel {parcel} goes to", "", *address, ""]))
    return mail


def _undecoded(name: str) -> str:
    """The name, but for the sign of an encoded word: the mail package decodes one, and what is in it may end a line."""
    return name.replace("=?", "= ?")


def configure(settings: ReceiptSettings, enabled: frozenset[str]) -> Contribution:
    written: providers.Provider[Any] = providers.Singleton(
        Receipts,
        database=ref("database"),
        places=ref("places"),
        carrier=providers.Singleton(Carrier, ref("places").provided.carrier),
        sender=settings.sender,
    )
    return Contribution(
        providers={"receipts": written},
        job_handlers=providers.List(written.provided.write) if "jobs" in enabled else (),
    )


settings_model = ReceiptSettings


def _euros(cents: int) -> str:
    return f"{cents // 100},{cents % 100:02} EUR"
