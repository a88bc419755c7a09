"""Every job, wherever it is, to be looked up and counted: for people and for the client, not for those who run jobs."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from wagoe_jobs.core.job import Job
from wagoe_jobs.values import JobFilter, Page, QueueStats, StatsTotals


class JobStore(Protocol):
    """Every job, wherever it is: reads cover work still to do and history alike."""

    def find(self, id: UUID) -> Job | None:
        """The job, None when unknown. One whose text cannot be read has error type `undecodable`."""
        ...

    def search(self, wanted: JobFilter = JobFilter(), *, limit: int = 50, cursor: str | None = None) -> Page:
        """Jobs by id, highest first: UUIDv7 ids make that newest first. A page holds 1 to 1,000.

        Raises InvalidJob for another limit, or a cursor that no page gave.
        """
        ...

    def failed_jobs(self, queue: str | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        """Dead letters in the order of `search`."""
        ...

    def retry(self, id: UUID) -> bool:
        """Redrive a dead letter: ready, its budget whole again, last error kept; False when it is none.

        One whose text cannot be read keeps that text, and gets the budget of a job that names none.
        """
        ...


class JobStats(Protocol):
    """Counts for people and dashboards; exact at the moment of reading, not cheap enough for a hot path."""

    def job_stats(self) -> StatsTotals:
        """Every queue that holds work or history, by name; `workers` names the holders of claims."""
        ...

    def queue_stats(self, queue: str) -> QueueStats:
        """One queue, zeros when nobody ever used it."""
        ...

    def job_history(self, type: str, limit: int = 50) -> Sequence[Job]:
        """Ended jobs of this type, last ended first."""
        ...
