"""The receipt as a mail: whatever a customer is called, it goes to that customer alone."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from examples.shop.database import Placed
from examples.shop.order import Order
from examples.shop.receipts import receipt

HEADERS = ["From", "To", "Subject", "Date", "Message-ID", "Content-Type", "Content-Transfer-Encoding", "MIME-Version"]
SIGNS = [
    "=?",
    "?=",
    "utf-8?q?",
    "=0d=0aBcc: eve@example.org",
    '"',
    "\\",
    "<eve@example.org>",
    "(",
    ",",
    ";",
    ":",
    "@",
    " ",
]
NAMES = st.lists(st.sampled_from([*SIGNS, "é", "漢", "x" * 40]), max_size=20).map(
    lambda parts: f"a{''.join(parts)}"[:120]
)


def read_back(name: str) -> EmailMessage:
    """What a reader of the mail sees."""
    order = {"name": name, "email": "ann@example.org", "number": "A1", "placed_s": 1}
    address = {"street": "Kaasmarkt 1", "postcode": "2801 AB", "town": "Gouda", "country": "NL"}
    placed = Placed(order | address, (("Mug", 1, 100),))  # type: ignore[arg-type]
    mail = message_from_bytes(receipt(placed, "P1", "shop@example.org").as_bytes(), policy=default)
    assert isinstance(mail, EmailMessage)
    return mail


@given(NAMES)
@example("=?utf-8?q?a=0d=0aBcc:_eve=40example.org?=")
@example("x =?utf-8?b?DQpCY2M6IGV2ZUBleGFtcGxlLm9yZw==?= y")
@example(f"Ann <eve@example.org>, {'x' * 90}")
@example(f"undisclosed:;{'x' * 90}")
def test_no_name_adds_a_header_or_a_reader(name: str):
    mail = read_back(name)
    assert mail.keys() == HEADERS
    assert [address.addr_spec for address in mail["To"].addresses] == ["ann@example.org"]


@pytest.mark.parametrize("name", ['Bobby "; DROP TABLE', "Ελένη Νικολάου", "אבג 123 (Ltd.)", "Siân O'Connor"])
def test_a_name_is_read_as_it_was_written(name: str):
    assert read_back(name)["To"].addresses[0].display_name == name


def test_the_door_lets_such_names_in():
    """So the receipt has to bear them."""
    told = {
        "order": "A1",
        "name": "=?utf-8?q?a=0d=0aBcc:?=",
        "email": "ann@example.org",
        "street": "s",
        "country": "XA",
    }
    assert Order.model_validate(
        {**told, "postcode": "-", "town": "t", "articles": [{"article": "CARD", "quantity": 1}]}
    )
