"""The kinds of value that a setting may have: ranges, names, secrets, and the checks behind them.

A check raises ValueError, which pydantic collects; no text of one quotes the value.
"""

import logging
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from wagoe_jobs.core.job import checked_instant, checked_name
from wagoe_jobs.errors import InvalidJob
from wagoe_jobs.settings.names import Refused, quoted

log = logging.getLogger("wagoe_jobs.settings")

PROVIDER_ALIASES = {"in-memory": "memory", "in_memory": "memory", "database": "db"}
_DATABASES = ("postgres", "postgresql", "mysql", "mariadb", "sqlite", "sql")
SECOND, HOUR, DAY = 1_000, 3_600_000, 86_400_000
_ONE_HASH_TAG = re.compile(r"[^{}]*\{[^{}]+\}[^{}]*")
_REDIS_SCHEMES = ("redis", "rediss", "unix")
_NO_REDIS_URL = "must be an address as redis://user:password@host:6379/0, rediss://... or unix:///path"


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
    if isinstance(given, str) and given.lower() in _DATABASES:
        raise ValueError('must be "memory", "db" or "redis": write provider = "db", and which database as jobs.db.url')
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


def _redis_url(secret: SecretStr) -> SecretStr:
    try:
        parts = urlsplit(secret.get_secret_value())
        usable = parts.scheme in _REDIS_SCHEMES and parts.port != 0
    except ValueError:  # its text may quote the password
        raise ValueError(_NO_REDIS_URL) from None
    if not usable:
        raise ValueError(_NO_REDIS_URL)
    in_path = parts.scheme != "unix" and "@" in parts.path
    if "@" in parts.netloc.rpartition("@")[0] or parts.fragment or in_path:
        # what stands around it may be read as the host, which errors tell
        raise ValueError("has an @, # or / too many: in a password they are written as %40, %23, %2F")
    return secret


def _host(text: str) -> str:
    # A whole address here may hold a password, and a host is shown.
    if re.search(r"[/@\s]", text):
        raise ValueError("must be the name of a host alone: a whole address is written as url")
    return text


def _prefix(text: str) -> str:
    if not _ONE_HASH_TAG.fullmatch(text):
        raise ValueError(
            "must hold one hash tag, as {wagoe}: or shop:{jobs}: do; it keeps all keys on one cluster node"
        )
    return text


def host_and_port(node: str) -> tuple[str, int]:
    """The two parts of "host:port", or "[::1]:port"; raises ValueError."""
    host, colon, port = node.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    bracketed = bare != host or ":" not in host
    if not (colon and bare and bracketed and port.isascii() and port.isdigit() and 0 < int(port) <= 65_535):
        raise ValueError("must be written as host:port, as sentinel1:26379")
    return _host(bare), int(port)


def _node(node: str) -> str:
    host_and_port(node)
    return node


def _nodes(nodes: tuple[str, ...]) -> tuple[str, ...]:
    if not nodes:
        raise ValueError("must name at least one")
    return nodes


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
Name = Annotated[str, AfterValidator(_name), Field(examples=["default"])]
Zone = Annotated[str, AfterValidator(_zone)]
Text = Annotated[str, Field(min_length=1, examples=["jobs"]), AfterValidator(_one_line)]
Reference = Annotated[str, AfterValidator(_reference)]
Secret = Annotated[SecretStr, AfterValidator(_not_blank), Field(examples=["secret"])]
DatabaseUrl = Annotated[
    SecretStr,
    BeforeValidator(_url_text),
    AfterValidator(_not_blank),
    Field(examples=["postgresql+psycopg://user@host/name"]),
]
RedisUrl = Annotated[
    SecretStr, AfterValidator(_not_blank), AfterValidator(_redis_url), Field(examples=["redis://localhost:6379/0"])
]
Host = Annotated[Text, AfterValidator(_host)]
Node = Annotated[Text, AfterValidator(_node), Field(examples=["sentinel1:26379"])]
Nodes = Annotated[tuple[Node, ...], Field(strict=False), AfterValidator(_nodes)]
Prefix = Annotated[Text, Field(max_length=200), AfterValidator(_prefix)]
Names = Annotated[tuple[Name, ...], Field(strict=False), AfterValidator(_distinct)]
Interval = Annotated[int, Field(ge=1, le=HOUR)]
Span = Annotated[int, Field(ge=1, le=366 * DAY)]
Days = Annotated[int, Field(ge=1, le=36_600)]
Hours = Annotated[float, Field(gt=0, le=24 * 366)]
