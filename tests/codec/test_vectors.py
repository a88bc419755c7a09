"""What transit-js wrote, recorded in vectors/transit_js.json by `./dev interop`, is read as it was meant."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.codec.meaning import described, digest
from wagoe_jobs.core import codec

VECTORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("vectors").joinpath("transit_js.json").read_text())


@pytest.mark.fault(63)
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_both_spellings_of_transit_js_are_read(vector):
    for spelling in {"json", "verbose"} & vector.keys():
        means = described(codec.decode_value(vector[spelling]))
        assert means == vector["means"] if "means" in vector else digest(means) == vector["digest"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_what_was_read_is_written_and_read_again(vector):
    value = codec.decode_value(vector["json"])
    assert described(codec.decode_value(codec.encode_value(value))) == described(value)


@pytest.mark.parametrize("spelling", ["json", "verbose"])
def test_a_job_of_another_writer_is_a_job(spelling):
    text = next(vector[spelling] for vector in VECTORS if vector["name"] == "a job")
    job, run = codec.decode_job(text), codec.decode_run(text)
    assert (job.type, job.queue, job.retry_count, job.max_retries) == ("send-email", "mail", 1, 5)
    assert (str(job.id), job.type, job.args, job.metadata) == (run.id, run.type, run.args, run.metadata)
    assert job.error is not None
    assert (job.error.type, job.error.message, job.tenant) == ("timeout", "too late", "acme")
    assert job.metadata["first-missing-at"] == job.created_at
