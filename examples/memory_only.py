"""Everything in this process's memory: for tests, and for trying things out. python examples/memory_only.py"""

from collections.abc import Mapping

from wagoe_jobs import Failure, JobContext, Status, Success, handler, running
from wagoe_jobs.containers import JobsContainer

SETTINGS = {
    "modules": [__name__],
    "jobs": {
        "provider": "memory",
        "workers": {"count": 2, "queues": ["default", "slow"], "retry_config": {"initial_delay_ms": 10}},
    },
}


@handler("count", queue="slow", max_retries=2)
def count(args: Mapping[str, int], context: JobContext) -> Success | Failure:
    if context.attempt <= args["fails"]:
        return Failure(f"not yet, at attempt {context.attempt}")
    return Success(context.attempt)


job_handlers = [count]

if __name__ == "__main__":
    with running(JobsContainer(settings=SETTINGS)) as system:
        jobs = system.client()
        made = [jobs.enqueue(count, {"fails": fails}) for fails in (0, 2, 9)]
        later = jobs.enqueue(count, {"fails": 0}, delay=3600)
        for job in (jobs.wait(id, timeout=10) for id in made):
            assert job is not None
            print(job.status, job.error.message if job.error and job.status == Status.FAILED else job.result)
        print("cancelled:", jobs.cancel(later))
        stats = system.job_stats().job_stats()
        print(f"{stats.processed} ended, {stats.succeeded} of them well")
