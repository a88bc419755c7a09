"""The kinds of value that a setting may have: ranges, names, secrets, and the checks behind them.

A check raises ValueError, which pydantic collects; no text of one quotes the value.
"""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from wagoe_jobs.core.job import checked_instant, checked_name
from wagoe_jobs.errors import InvalidJob
from wagoe_jobs.settings.names import Refused, quoted

log = logging.getLogger("wagoe_jobs.settings")

PROVIDER_ALIASES = {"in-memory": "memory", "in_memory": "memory", "database": "db"}
SECOND, HOUR, DAY = 1_000, 3_600_000, 86_400_000


def _name(name: str) -> str:
    try:
        return checked_name("name", name)
    except InvalidJob as error:
        raise ValueError(error.reason) from None


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError("must name at least one queue; count = 0 is how a node runs none")
    if len(set(names)) < len(names):
        raise ValueError("names a queue twice")
    return names


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ValueError("is not a time zone that this machine knows, as Europe/Amsterdam") from None
    return name


def _reference(text: str) -> str:
    module, colon, attribute = text.partition(":")
    if not (colon and all(part.isidentifier() for part in f"{module}.{attribute}".split("."))):
        raise ValueError("must name a function as package.module:function")
    return text


def _provider(given: object) -> object:
    if isinstance(given, str) and given in PROVIDER_ALIASES:
        log.warning("jobs.provider: %s is an old name, write %s", given, PROVIDER_ALIASES[given])
        return PROVIDER_ALIASES[given]
    return given


def _auto_or_bool(given: object) -> object:
    # 1 == True, so that a Literal alone would let a number pass.
    if given != "auto" and not isinstance(given, bool):
        raise ValueError('must be "auto", true or false')
    return given


def _url_text(given: object) -> object:
    # An SQLAlchemy URL hides its password in str(): it has to be asked for the whole text.
    render = getattr(given, "render_as_string", None)
    return render(hide_password=False) if render else given


def _not_blank(secret: SecretStr) -> SecretStr:
    text = secret.get_secret_value()
    if not text.strip():
        raise ValueError("must not be empty")
    _one_line(text)
    return secret


def _one_line(text: str) -> str:
    """A line break at the end of a secret that a file held, or a NUL, would change what the text means."""
    if not text.isprintable():
        raise ValueError("holds a line break or another character that cannot be printed")
    return text


def refuse_naive(given: object, path: str = "") -> None:
    """Raises Refused for a datetime without a zone anywhere in `given`: it names no instant."""
    if isinstance(given, datetime):
        try:
            checked_instant(path, given)
        except InvalidJob as error:
            raise Refused(path, error.reason) from None
    elif isinstance(given, Mapping):
        for key, value in given.items():
            refuse_naive(value, f"{path}.{quoted(key)}" if path else quoted(key))
    elif isinstance(given, (list, tuple)):
        for index, value in enumerate(given):
            refuse_naive(value, f"{path}[{index}]")


def _aware(args: dict[str, Any]) -> dict[str, Any]:
    refuse_naive(args)
    return args


Provider = Annotated[Literal["memory", "db", "redis"], BeforeValidator(_provider)]
AutoOrBool = Annotated[Literal["auto", True, False], BeforeValidator(_auto_or_bool)]
Args = Annotated[dict[str, Any], AfterValidator(_aware)]
Name = Annotated[str, AfterValidator(_name)]
Zone = Annotated[str, AfterValidator(_zone)]
Text = Annotated[str, Field(min_length=1), AfterValidator(_one_line)]
Reference = Annotated[str, AfterValidator(_reference)]
Secret = Annotated[SecretStr, BeforeValidator(_url_text), AfterValidator(_not_blank)]
Names = Annotated[tuple[Name, ...], Field(strict=False), AfterValidator(_distinct)]
Interval = Annotated[int, Field(ge=1, le=HOUR)]
Span = Annotated[int, Field(ge=1, le=366 * DAY)]
Days = Annotated[int, Field(ge=1, le=36_600)]
Hours = Annotated[float, Field(gt=0, le=24 * 366)]
