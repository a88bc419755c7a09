"""One order as a customer sends it. Whatever is wrong with it is said here, before anything is stored."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from hashlib import sha256
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


class Article(NamedTuple):
    code: str
    title: str
    cents: int
    stock: int


CATALOGUE = {
    article.code: article
    for article in (
        Article("TEA-EARL", "Earl Grey, 100 g", 690, 1500),
        Article("TEA-SENCHA", "Sencha, 100 g", 1150, 1500),
        Article("TEA-MINT", "Mint, 50 g", 420, 1500),
        Article("TEA-CHAI", "Chai, 150 g", 840, 1500),
        Article("MUG-BLUE", "Mug, blue", 1290, 900),
        Article("MUG-PLAIN", "Mug, unglazed", 1090, 900),
        Article("POT-IRON", "Tea pot, cast iron", 4900, 400),
        Article("POT-GLASS", "Tea pot, glass", 3450, 400),
        Article("SIEVE", "Tea sieve", 380, 2000),
        Article("HONEY", "Honey, 250 g", 760, 1200),
        Article("CARD", "Gift card", 250, 3000),
        Article("BOX-TIN", "Tin box", 980, 300),
    )
}

POSTCODES = {
    "BE": r"[1-9][0-9]{3}",
    "DE": r"[0-9]{5}",
    "EG": r"[0-9]{5}",
    "FR": r"[0-9]{5}",
    "GB": r"[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}",
    "GR": r"[0-9]{3} ?[0-9]{2}",
    "IL": r"[0-9]{7}",
    "IN": r"[1-9][0-9]{5}",
    "JP": r"[0-9]{3}-[0-9]{4}",
    "NL": r"[1-9][0-9]{3} ?[A-Z]{2}",
    "PL": r"[0-9]{2}-[0-9]{3}",
    "UA": r"[0-9]{5}",
}
"""Countries whose postcodes are known; for others any will do."""


def _printable(text: str) -> str:
    """Refuse what could end a line: names and addresses go into headers of mail."""
    if any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in text):
        raise ValueError("must be one line without control characters")
    if not text.strip():
        raise ValueError("must not be empty")
    return text


_ATOM, _LABEL = "[A-Za-z0-9_+-]+", "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
EMAIL = rf"^{_ATOM}(\.{_ATOM})*@{_LABEL}(\.{_LABEL})+$"
Line = Annotated[str, Field(max_length=120), AfterValidator(_printable)]
Code = Annotated[str, Field(pattern=r"^[A-Z0-9][A-Z0-9-]{0,19}$")]  # names a file, too


class Wanted(BaseModel):
    """So many of one article."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    article: Code
    quantity: Annotated[int, Field(ge=1, le=99)]


class Order(BaseModel):
    """The whole order; `order` is the number that the customer's own system gave it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    order: Code
    name: Line
    email: Annotated[str, Field(max_length=120, pattern=EMAIL)]
    street: Annotated[str, Field(max_length=200), AfterValidator(_printable)]
    postcode: Annotated[str, Field(max_length=20), AfterValidator(_printable)]
    town: Line
    country: Annotated[str, Field(pattern=r"^[A-Z]{2}$")]
    articles: Annotated[list[Wanted], Field(min_length=1, max_length=50)]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        known = POSTCODES.get(self.country)
        if known is not None and not re.fullmatch(known, self.postcode):
            raise ValueError(f"postcode: {self.postcode!r} is none of {self.country}")
        for wanted in self.articles:
            if wanted.article not in CATALOGUE:
                near = get_close_matches(wanted.article, CATALOGUE, n=1)
                hint = f": did you mean {near[0]}?" if near else ""
                raise ValueError(f"articles: there is no {wanted.article}{hint}")
        return self

    @property
    def fingerprint(self) -> str:
        """Equal for the same order sent again, and for nothing else."""
        return sha256(self.model_dump_json().encode()).hexdigest()

    def by_article(self) -> Mapping[str, int]:
        """How many of each article, in the order of their codes."""
        counted: Counter[str] = Counter()
        for wanted in self.articles:
            counted[wanted.article] += wanted.quantity
        return dict(sorted(counted.items()))


class OrderNumber(BaseModel):
    """The arguments of a job about one order: its number alone, since the rest is in the database."""

    model_config = ConfigDict(extra="forbid", strict=True)

    order: Code
