"""The carrier, who gives each parcel a number: a stand-in for a service elsewhere, with its state in files.

It answers as such services do: nearly always at once, not where it does not go, and for a lighthouse, where
somebody has to row, only when it is asked for the third time.
"""

import os
from hashlib import sha256
from pathlib import Path

from examples.shop.order import POSTCODES
from examples.shop.places import write_whole

LABEL = 100
"""Characters that fit on one line of a parcel's label."""
ASKS = 3
ALSO = "also.txt"
"""Names further countries that it goes to, one code a line; it may be written by hand."""


class NoCarrier(Exception):
    """It does not go there: asking again is useless until it does."""


class CarrierBusy(Exception):
    """Ask again later."""


class Carrier:
    """Its state is in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def book(self, order: str, street: str, country: str) -> str:
        """The parcel's number, the same however often it is asked. Raises NoCarrier, CarrierBusy, ValueError."""
        if country not in POSTCODES and country not in self._also():
            raise NoCarrier(f"no carrier goes to {country}")
        if len(street) > LABEL:
            raise ValueError(f"the street takes {len(street)} characters, a label has {LABEL}")
        if "lighthouse" in street.casefold() and self._asked(order) < ASKS:
            raise CarrierBusy("the carrier has no boat free")
        return "P" + sha256(order.encode()).hexdigest()[:10].upper()

    def _also(self) -> frozenset[str]:
        file = self._folder / ALSO
        return frozenset(file.read_text().split()) if file.exists() else frozenset()

    def _asked(self, order: str) -> int:
        """How often it was asked about this order, this time included."""
        file = self._folder / f"{os.path.basename(order)}.asked"
        times = 1 + (int(file.read_text()) if file.exists() else 0)
        write_whole(file, str(times).encode())
        return times
