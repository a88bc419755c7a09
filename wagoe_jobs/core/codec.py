"""The wire codec's door: jobs, values and errors as transit text, and back. docs/wire.md is its reference.

Written is JSON-Verbose with `~:args` last. Where no string in the args can mean anything but itself they are
left to the C encoder and scanner of json; everything else takes the writer and the reader that look at each
value. Read are both spellings of transit, and the plain JSON of the generation before it. Writing raises
InvalidJob or PayloadTooLarge, before anything is stored; reading raises Undecodable, whatever is wrong.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from wagoe_jobs.core.job import ErrorInfo, Job
from wagoe_jobs.core.json_text import dumps, encodable, may_hide, parse, plain_from, plain_text, quoted
from wagoe_jobs.core.legacy import is_legacy, legacy_fields
from wagoe_jobs.core.own_spelling import job_from, run_from, type_from
from wagoe_jobs.core.payload import Run, error_of, job_of, named, run_of
from wagoe_jobs.core.told import told
from wagoe_jobs.core.transit_reader import Reader
from wagoe_jobs.core.transit_writer import instant_text, written
from wagoe_jobs.errors import InvalidJob, PayloadTooLarge, Undecodable

__all__ = [
    "FOLLOW_UP_LIMIT",
    "PAYLOAD_LIMIT",
    "Run",
    "decode_error",
    "decode_job",
    "decode_run",
    "decode_value",
    "encode_error",
    "encode_job",
    "encode_value",
    "type_of",
]

PAYLOAD_LIMIT = 1_000_000
FOLLOW_UP_LIMIT = PAYLOAD_LIMIT + 65_536
"""What a job may take that was enqueued before: its repeats, last error and notes must not cost it its end."""


def encode_job(job: Job, *, limit: int = PAYLOAD_LIMIT) -> str:
    """The payload of `job`, without `abandoned`. Raises InvalidJob with the path, or PayloadTooLarge."""
    text = f'{{{_head(job)},"~:args":{_json(job.args, "args")}}}'
    if len(text) > limit:
        raise PayloadTooLarge("args", len(text), limit)
    return text


def decode_job(text: str) -> Job:
    """The job of a payload. Raises Undecodable."""
    try:
        return job_from(text) or job_of(_fields(text))
    except (ValueError, ArithmeticError, RecursionError):
        raise _malformed() from None


def decode_run(text: str) -> Run:
    """What a worker needs of a payload: the hot path. Raises Undecodable.

    In a payload of this version's own spelling, instants are not checked for being in the calendar.
    """
    try:
        return run_from(text) or run_of(job_of(_fields(text)))
    except (ValueError, ArithmeticError, RecursionError):
        raise _malformed() from None


def type_of(text: str) -> str:
    """The job type that a payload names, for people to see: of a large job too, at no cost. Raises Undecodable."""
    return type_from(text) or decode_run(text).type


def encode_value(value: object, *, path: str = "args") -> str:
    """One value; a scalar is quoted, as transit has it at the top. Raises as `encode_job` does, with `path`."""
    text = _json(value, path)
    if text[0] not in "{[":
        text = f'{{"~#\'":{text}}}'
    if len(text) > PAYLOAD_LIMIT:
        raise PayloadTooLarge(path, len(text), PAYLOAD_LIMIT)
    return text


def decode_value(text: str) -> Any:
    """The value of a text. Raises Undecodable."""
    node = parse(text)
    if plain_from(text, 0):
        return node
    try:
        return Reader(may_hide(text)).value(node)
    except (ValueError, ArithmeticError, RecursionError):
        raise _malformed() from None


def encode_error(error: ErrorInfo) -> str:
    """An error as a map. Its texts are made fit; details that cannot be written raise InvalidJob."""
    return _error_json(error, "error")


def decode_error(text: str) -> ErrorInfo:
    """The error of a text. Raises Undecodable."""
    return error_of(decode_value(text))


def _json(value: object, path: str, depth: int = 0) -> str:
    """The transit of a value that stands in `depth` containers of its field."""
    text = plain_text(value, PAYLOAD_LIMIT, depth)
    return dumps(written(value, path, PAYLOAD_LIMIT, depth)) if text is None else text


def _head(job: Job) -> str:
    """Every field but args, the absent ones left out."""
    created = _instant(job.created_at, "created_at")
    updated = created if job.updated_at is job.created_at else _instant(job.updated_at, "updated_at")
    head = (
        f'"~:id":"~u{job.id}","~:job-type":{_keyword(job.type, "type")},"~:queue":{_keyword(job.queue, "queue")},'
        f'"~:status":"~:{job.status}","~:priority":"~:{job.priority}",'
        f'"~:retry-count":{job.retry_count},"~:max-retries":{job.max_retries},'
        f'"~:created-at":{created},"~:updated-at":{updated}'
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
        raise InvalidJob(path, f"must be a str, not {told(name)}")
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


def _fields(text: str) -> dict[str, Any]:
    """The fields of a job by name, whatever they are spelled in."""
    node = parse(text)
    return legacy_fields(node) if is_legacy(node) else named(Reader(may_hide(text)).map(node))


def _malformed() -> Undecodable:
    return Undecodable("a value is malformed or out of range, or the stack has no room for its depth")
