"""Every error that this library raises on purpose, named for what the caller can do about it.

    JobsError
    |- SettingsError        correct the settings; `path` names the key
    |- WiringError          correct what the modules contribute or need
    |- JobsDisabled         add a `[jobs]` table, or do not ask for a jobs component
    |- InvalidJob           correct the job; nothing was stored; `path` names the value
    |  '- PayloadTooLarge   store the data elsewhere and pass a reference
    |- Undecodable          the stored text is not a job that this version can read
    |- NotATransaction      pass a transaction of this database that is open
    |- BackendUnavailable   try again later; the store did not answer, `backend` names it
    |- SchemaMismatch       run `wagoe-jobs db upgrade`
    '- TenantMismatch       enqueue for the tenant that is bound, or bind the other one

A handler's failure is a value (`wagoe_jobs.core.outcome.Failure`), never one of these in flight.
"""


class JobsError(Exception):
    """The root: `except JobsError` catches whatever this library raises on purpose."""


class SettingsError(JobsError):
    """A setting that cannot be used. `path` is the full dotted path, as `jobs.workers.count`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class WiringError(JobsError):
    """The system cannot be put together: a clash, a missing reference, a circle, a failed import."""


class JobsDisabled(JobsError):
    """A jobs component was asked for, but the settings have no `jobs` block."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key}: jobs are not enabled: the settings have no [jobs] table")
        self.key = key


class InvalidJob(JobsError):
    """A job that cannot be stored. `path` leads to the value, as `args["to"][2]`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class PayloadTooLarge(InvalidJob):
    """The serialized job is longer than the limit; `size` and `limit` are in characters."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        super().__init__(
            path,
            f"the serialized job has {size:,} characters, the limit is {limit:,}: "
            "keep the data elsewhere and pass a reference to it",
        )
        self.size = size
        self.limit = limit


class Undecodable(JobsError):
    """Stored text that is not a job, whatever is wrong with it. `reason` never quotes the text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotATransaction(JobsError):
    """`tx` is not an open transaction of the queue's own database; nothing was stored."""


class BackendUnavailable(JobsError):
    """The store did not answer within its time-out; what was asked may or may not have happened."""

    def __init__(self, backend: str, reason: str = "") -> None:
        super().__init__(f"{backend} is unavailable" + (f": {reason}" if reason else ""))
        self.backend = backend
        self.reason = reason


class SchemaMismatch(JobsError):
    """The database holds an older, newer or incomplete schema than this version needs."""


class TenantMismatch(JobsError):
    """The tenant that was named is not the one that is bound."""

    def __init__(self, named: str, bound: str) -> None:
        super().__init__(f"the job names tenant {named!r}, but tenant {bound!r} is bound")
        self.named = named
        self.bound = bound
