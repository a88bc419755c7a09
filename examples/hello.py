"""The newcomer's program, word for word as README shows it: python examples/hello.py"""
# mypy: ignore-errors
# pyright: reportOptionalMemberAccess=false
# fmt: off
# ruff: noqa: I001

from wagoe_jobs import handler
from wagoe_jobs.containers import JobsContainer
from wagoe_jobs.node import running

@handler("send-email")
def send_email(args):
    print("to", args["to"])

job_handlers = [send_email]            # what this module contributes

container = JobsContainer(settings={"modules": [__name__], "jobs": {"provider": "memory"}})
with running(container) as system:
    jobs = system.client()
    job = jobs.enqueue(send_email, {"to": "ann@example.org"})
    print(jobs.wait(job, timeout=5).status)
