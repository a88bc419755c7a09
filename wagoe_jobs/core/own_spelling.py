"""Payloads spelled exactly as this version writes them, read without a look at every value: the hot path.

One pattern reads the head; what follows is left to the scanner of json, field by field, args last. Since the
pattern begins at the first character and the args end before the last, nothing is overlooked. What is spelled
otherwise is not wrong, only slow: then None is returned, and the codec reads the text with care.
"""

import re
from datetime import datetime
from typing import Any

from wagoe_jobs.core.job import Job
from wagoe_jobs.core.json_text import may_hide, plain_from, scanner_for
from wagoe_jobs.core.payload import PRIORITIES, STATUSES, Run, error_of, metadata_of
from wagoe_jobs.core.transit_reader import Reader
from wagoe_jobs.core.transit_scalars import uuid_of
from wagoe_jobs.core.transit_types import SPECIAL

_NAME = r'"~:([^"\\\x00-\x1f]+)"'
_COUNT = r"(0|[1-9][0-9]{0,8})"
_INSTANT = r'"~t([0-9-]{10}T[0-9:]{8}\.[0-9]{6}Z)"'  # of these fromisoformat takes but the one form that is meant
_head = re.compile(
    r'\{"~:id":"~u([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"'
    rf',"~:job-type":{_NAME},"~:queue":{_NAME},"~:status":{_NAME},"~:priority":{_NAME}'
    rf',"~:retry-count":{_COUNT},"~:max-retries":{_COUNT}'
    rf',"~:created-at":{_INSTANT},"~:updated-at":{_INSTANT}(?:,"~:execute-at":{_INSTANT})?'
    rf'(?:,"~:started-at":{_INSTANT})?(?:,"~:completed-at":{_INSTANT})?,"~:'
).match
_field = re.compile(r'(result|error|metadata)":').match


def run_from(text: str) -> Run | None:
    """The run of a payload, or None when its spelling is another. Raises as `job_from` does."""
    head = _head(text)
    fields = None if head is None else _fields(text, head.end())
    if head is None or fields is None:
        return None
    id, type, status, priority, retry_count, max_retries = head.group(1, 2, 4, 5, 6, 7)
    if status not in STATUSES or priority not in PRIORITIES:
        return None
    return Run(id, type, fields["args"], int(retry_count), int(max_retries), _metadata(fields))


def type_from(text: str) -> str | None:
    """The job type in a payload's head, or None when its spelling is another; nothing behind the head is read."""
    head = _head(text)
    return None if head is None else head[2]


def job_from(text: str) -> Job | None:
    """The same for a whole job. Raises Undecodable, ValueError or ArithmeticError for a wrong value."""
    head = _head(text)
    fields = None if head is None else _fields(text, head.end())
    if head is None or fields is None:
        return None
    id, type, queue, status, priority, retry_count, max_retries, created, updated, due, started, ended = head.groups()
    if status not in STATUSES or priority not in PRIORITIES:
        return None
    return Job(
        id=uuid_of(id),
        type=type,
        queue=queue,
        args=fields["args"],
        status=STATUSES[status],
        priority=PRIORITIES[priority],
        retry_count=int(retry_count),
        max_retries=int(max_retries),
        execute_at=_instant(due),
        created_at=datetime.fromisoformat(created),
        updated_at=datetime.fromisoformat(updated),
        started_at=_instant(started),
        completed_at=_instant(ended),
        result=fields.get("result"),
        error=fields.get("error"),
        metadata=_metadata(fields),
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _fields(text: str, at: int) -> dict[str, Any] | None:
    """What follows the head, but metadata as parsed JSON. None when a reader must see the whole text."""
    scan = scanner_for(text)
    fields: dict[str, Any] = {}
    try:
        while not text.startswith('args":', at):
            name = _field(text, at)
            if name is None:
                return None
            fields[name[1]], at = scan(text, name.end())
            if not text.startswith(',"~:', at):
                return None
            at += 4
        at += 6
        args, end = scan(text, at)
    except (ValueError, StopIteration, RecursionError):
        return None
    plain = plain_from(text, at)
    if text[end:] != "}" or ((fields or not plain) and may_hide(text)):
        return None
    if "result" in fields:
        fields["result"] = Reader().value(fields["result"])
    if "error" in fields:
        fields["error"] = error_of(Reader().value(fields["error"]))
    fields["args"] = args if plain else Reader().value(args)
    return fields


def _metadata(fields: dict[str, Any]) -> dict[str, object]:
    """Metadata by plain names; as a rule all of it is text that means itself."""
    metadata: dict[str, object] = {}
    raw = fields.get("metadata", metadata)
    for key, value in raw.items() if type(raw) is dict else [("", None)]:
        if key[:2] != "~:" or type(value) is not str or value[:1] in SPECIAL:
            return metadata_of(Reader().value(raw))
        metadata[key[2:]] = value
    return metadata
