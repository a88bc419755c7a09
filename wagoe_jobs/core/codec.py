"""The wire codec's door: jobs, values and errors as transit text, and back. docs/wire.md is its reference.

Written is JSON-Verbose with `~:args` last. Where no string in the args can mean anything but itself they are
left to the C encoder and scanner of json; everything else takes the writer and the reader that look at each
value. Read are both spellings of transit, and the plain JSON of the generation before it. Writing raises
InvalidJob or PayloadTooLarge, before anything is stored; reading raises Undecodable, whatever is wrong.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from wagoe_jobs.core.job import EPOCH, ErrorInfo, Job
from wagoe_jobs.core.json_text import dumps, encodable, parse, plain_from, plain_text, quoted
from wagoe_jobs.core.legacy import is_legacy, legacy_fields
from wagoe_jobs.core.payload import PRIORITIES, STATUSES, Run, error_of, job_of, named, run_of
from wagoe_jobs.core.transit_reader import Reader
from wagoe_jobs.core.transit_writer import instant_text, written
from wagoe_jobs.errors import InvalidJob, PayloadTooLarge, Undecodable

__all__ = [
    "PAYLOAD_LIMIT",
    "Run",
    "decode_error",
    "decode_job",
    "decode_run",
    "decode_value",
    "encode_error",
    "encode_job",
    "encode_value",
]

PAYLOAD_LIMIT = 1_000_000

T = TypeVar("T")


def encode_job(job: Job) -> str:
    """The payload of `job`, without `abandoned`. Raises InvalidJob with the path, or PayloadTooLarge."""
    text = f'{{{_head(job)},"~:args":{_json(job.args, "args")}}}'
    if len(text) > PAYLOAD_LIMIT:
        raise PayloadTooLarge("args", len(text), PAYLOAD_LIMIT)
    return text


def decode_job(text: str) -> Job:
    node = parse(text)
    job = _plain_job(node) if _plain_args(text, node) else None
    return _told(lambda: job_of(_fields(node))) if job is None else job


def decode_run(text: str) -> Run:
    """What a worker needs of a payload: the hot path."""
    node = parse(text)
    run = _plain_run(node) if _plain_args(text, node) else None
    return _told(lambda: run_of(_fields(node))) if run is None else run


def encode_value(value: object, *, path: str = "args") -> str:
    """One value; a scalar is quoted, as transit has it at the top. Raises as `encode_job` does, with `path`."""
    text = _json(value, path)
    if text[0] not in "{[":
        text = f'{{"~#\'":{text}}}'
    if len(text) > PAYLOAD_LIMIT:
        raise PayloadTooLarge(path, len(text), PAYLOAD_LIMIT)
    return text


def decode_value(text: str) -> Any:
    node = parse(text)
    return node if plain_from(text, 0) else _told(lambda: Reader().value(node))


def encode_error(error: ErrorInfo) -> str:
    """An error as a map. Its texts are made fit; details that cannot be written raise InvalidJob."""
    return _error_json(error, "error")


def decode_error(text: str) -> ErrorInfo:
    return error_of(decode_value(text))


def _json(value: object, path: str, depth: int = 0) -> str:
    """The transit of a value that stands in `depth` containers of its field."""
    text = plain_text(value, PAYLOAD_LIMIT, depth)
    return dumps(written(value, path, PAYLOAD_LIMIT, depth)) if text is None else text


def _head(job: Job) -> str:
    """Every field but args, the absent ones left out."""
    head = (
        f'"~:id":"~u{job.id}","~:job-type":{_keyword(job.type, "type")},"~:queue":{_keyword(job.queue, "queue")},'
        f'"~:status":"~:{job.status}","~:priority":"~:{job.priority}",'
        f'"~:retry-count":{job.retry_count},"~:max-retries":{job.max_retries},'
        f'"~:created-at":{_instant(job.created_at, "created_at")},'
        f'"~:updated-at":{_instant(job.updated_at, "updated_at")}'
    )
    if job.execute_at is not None:
        head += f',"~:execute-at":{_instant(job.execute_at, "execute_at")}'
    if job.started_at is not None:
        head += f',"~:started-at":{_instant(job.started_at, "started_at")}'
    if job.completed_at is not None:
        head += f',"~:completed-at":{_instant(job.completed_at, "completed_at")}'
    if job.result is not None:
        head += f',"~:result":{_json(job.result, "result")}'
    if job.error is not None:
        head += f',"~:error":{_error_json(job.error, "error")}'
    return head + _metadata_json(job.metadata) if job.metadata else head


def _keyword(name: str, path: str) -> str:
    if type(name) is not str:
        raise InvalidJob(path, f"must be a str, not {name!r}")
    if not encodable(name):
        raise InvalidJob(path, "holds half a surrogate pair, which is not text")
    return quoted("~:" + name)


def _instant(value: datetime, path: str) -> str:
    try:
        return f'"~t{instant_text(value)}"'
    except ValueError as exc:
        raise InvalidJob(path, str(exc)) from None


def _metadata_json(metadata: Mapping[str, object]) -> str:
    entries = (
        f"{_keyword(key, 'metadata')}:{_json(value, f'metadata[{quoted(key)}]', 1)}" for key, value in metadata.items()
    )
    return f',"~:metadata":{{{",".join(entries)}}}'


def _error_json(error: ErrorInfo, path: str) -> str:
    texts = {
        "message": error.message,
        "exception-class": error.exception_class,
        "stacktrace": error.stacktrace,
    }
    fields = [f'"~:type":{quoted("~:" + (_fit(error.type) or "unknown"))}']
    fields += [f'"~:{name}":{_json(_fit(text), path)}' for name, text in texts.items() if text is not None]
    if error.details is not None:
        fields.append(f'"~:details":{_json(error.details, path + ".details", 1)}')
    return f"{{{','.join(fields)}}}"


def _fit(text: object) -> str:
    """Text that can be kept: exceptions quote what they met, halves of surrogate pairs included."""
    return str(text).encode("utf-8", "backslashreplace").decode()


_args_key = re.compile(r'"~:args"').search
# A match or None, which is then subscripted: the TypeError says that the spelling is another.
_plain_id: Callable[[str], Any] = re.compile(
    r"~u([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
).fullmatch
_plain_name: Callable[[str], Any] = re.compile(r"~:(.+)", re.DOTALL).fullmatch
_plain_instant: Callable[[str], Any] = re.compile(
    r"~t([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z)"
).fullmatch


def _plain_args(text: str, node: object) -> bool:
    """Whether the args of this payload are what JSON made of them.

    The first text that looks like their key is that key or stands before it, since `plain_from` lets no
    escape by: from there to the end there is nothing that is not looked at.
    """
    if type(node) is not dict or "~:args" not in node:
        return False
    key = _args_key(text)
    return key is not None and plain_from(text, key.end())


def _plain_run(node: dict[str, Any]) -> Run | None:
    """The run of a payload with plain args; None unless the other fields are spelled as this version does."""
    try:
        retry_count, max_retries = node["~:retry-count"], node["~:max-retries"]
        if type(retry_count) is not int or type(max_retries) is not int or retry_count < 0 or max_retries < 0:
            return None
        return Run(
            _plain_id(node["~:id"])[1],
            _plain_name(node["~:job-type"])[1],
            node["~:args"],
            retry_count,
            max_retries,
            _plain_metadata(node),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _plain_job(node: dict[str, Any]) -> Job | None:
    """The same for a whole job, which has neither result nor error."""
    run = None if "~:result" in node or "~:error" in node else _plain_run(node)
    if run is None:
        return None
    try:
        return Job(
            id=UUID(run.id),
            type=run.type,
            queue=_plain_name(node["~:queue"])[1],
            args=run.args,
            status=STATUSES[node["~:status"][2:]],
            priority=PRIORITIES[node["~:priority"][2:]],
            retry_count=run.retry_count,
            max_retries=run.max_retries,
            execute_at=_plain_moment(node, "~:execute-at"),
            created_at=_plain_moment(node, "~:created-at") or EPOCH,
            updated_at=_plain_moment(node, "~:updated-at") or EPOCH,
            started_at=_plain_moment(node, "~:started-at"),
            completed_at=_plain_moment(node, "~:completed-at"),
            metadata=run.metadata,
        )
    except (KeyError, TypeError, ValueError):
        return None


def _plain_moment(node: dict[str, Any], name: str) -> datetime | None:
    value = node.get(name)
    return None if value is None else datetime.fromisoformat(_plain_instant(value)[1])


def _plain_metadata(node: dict[str, Any]) -> dict[str, object]:
    metadata: dict[str, object] = {}
    for key, value in node.get("~:metadata", metadata).items():
        if key[:2] != "~:" or type(value) is not str or value[:1] in ("~", "^", "`"):
            raise ValueError
        metadata[key[2:]] = value
    return metadata


def _fields(node: Any) -> dict[str, Any]:
    """The fields of a job by name, whatever they are spelled in."""
    if is_legacy(node):
        return legacy_fields(node)
    return named(dict(Reader().entries(node)))


def _told(read: Callable[[], T]) -> T:
    """What `read` gives; whatever is wrong with a single value is Undecodable too."""
    try:
        return read()
    except (ValueError, ArithmeticError) as exc:
        raise Undecodable(str(exc)) from None
