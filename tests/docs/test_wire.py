"""The page about the wire format: the job that it shows is what is written, to the letter."""

from datetime import UTC, datetime
from uuid import UUID

from tests.docs.test_pages import ROOT, blocks
from wagoe_jobs.core.codec import decode_job, encode_job
from wagoe_jobs.core.job import Job, Priority

(SHOWN,) = blocks("json", (ROOT / "docs" / "wire.md").read_text())
MADE = datetime(2026, 11, 30, 13, 30, 8, 123456, UTC)
JOB = Job(
    id=UUID("01937d3a-5c1e-7b6a-9f00-0123456789ab"),
    type="send-email",
    queue="mail",
    priority=Priority.HIGH,
    args={"to": "ann@example.org"},
    created_at=MADE,
    updated_at=MADE,
    metadata={"tenant-id": "acme"},
)


def test_the_job_that_is_shown_is_written_so():
    assert encode_job(JOB) == SHOWN.replace("\n ", "").rstrip("\n")


def test_the_job_that_is_shown_can_be_read():
    assert decode_job(SHOWN) == JOB
