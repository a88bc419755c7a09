"""Asynchronous handlers, and enqueuing from async code, as in an ASGI application. python examples/async_handlers.py"""

import asyncio
from collections.abc import Mapping

from wagoe_jobs import handler, running
from wagoe_jobs.containers import JobsContainer


@handler("fetch")
async def fetch(args: Mapping[str, str]) -> str:
    await asyncio.sleep(0.05)  # waits for another machine, say
    return f"fetched {args['page']}"


@handler("hang", timeout=0.1, max_retries=0)
async def hang(args: object) -> None:
    await asyncio.sleep(3600)  # is cancelled when the time-out ends


job_handlers = [fetch, hang]


async def main() -> None:
    settings = {"modules": [__name__], "jobs": {"provider": "memory", "workers": {"count": 4}}}
    async with running(JobsContainer(settings=settings)) as system:  # in ASGI: inside the lifespan
        jobs = system.client()
        made = await asyncio.gather(*(jobs.aenqueue(fetch, {"page": page}) for page in ("a", "b", "c")))
        stuck = await jobs.aenqueue(hang)
        for job in await asyncio.gather(*(jobs.await_(id, timeout=5) for id in [*made, stuck])):
            assert job is not None
            print(job.status, job.result if job.error is None else job.error.type)


if __name__ == "__main__":
    asyncio.run(main())
