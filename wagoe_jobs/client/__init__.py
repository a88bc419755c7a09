"""The client: `Jobs`, and `new_job` for a job that is made before it is enqueued."""

from wagoe_jobs.client.jobs import EnqueueOptions, FindOptions, Jobs, ManyOptions
from wagoe_jobs.client.making import new_job
from wagoe_jobs.core.enqueued import Enqueued

__all__ = ["EnqueueOptions", "Enqueued", "FindOptions", "Jobs", "ManyOptions", "new_job"]
