"""Durable background jobs as components of a dependency-injection system.

The names below are loaded when they are first used: importing this package opens, reads and registers nothing.
"""

from importlib import import_module

TYPE_CHECKING = False  # as typing has it, which takes five times as long to import as everything here

if TYPE_CHECKING:
    from wagoe_jobs.client import Jobs, new_job
    from wagoe_jobs.context import JobContext
    from wagoe_jobs.core.enqueued import Enqueued
    from wagoe_jobs.core.job import ErrorInfo, Job, Priority, Status
    from wagoe_jobs.core.outcome import Discard, Failure, Retry, Snooze, Success
    from wagoe_jobs.errors import (
        BackendUnavailable,
        InvalidJob,
        JobsDisabled,
        JobsError,
        NotATransaction,
        PayloadTooLarge,
        SchemaMismatch,
        SettingsError,
        TenantMismatch,
        Undecodable,
        WiringError,
    )
    from wagoe_jobs.modules import Contribution, collected, ref
    from wagoe_jobs.node import running
    from wagoe_jobs.pool import WorkerPool
    from wagoe_jobs.ports import Page, Runtime, transactional_queue
    from wagoe_jobs.registry import Registry, handler
    from wagoe_jobs.runtime import open_runtime
    from wagoe_jobs.settings import load_settings
    from wagoe_jobs.tenants import bound_tenant, tenant_bound
    from wagoe_jobs.worker import Worker

_HOMES = {
    "client": ("Jobs", "new_job"),
    "context": ("JobContext",),
    "core.enqueued": ("Enqueued",),
    "core.job": ("ErrorInfo", "Job", "Priority", "Status"),
    "core.outcome": ("Discard", "Failure", "Retry", "Snooze", "Success"),
    "errors": (
        "BackendUnavailable",
        "InvalidJob",
        "JobsDisabled",
        "JobsError",
        "NotATransaction",
        "PayloadTooLarge",
        "SchemaMismatch",
        "SettingsError",
        "TenantMismatch",
        "Undecodable",
        "WiringError",
    ),
    "modules": ("Contribution", "collected", "ref"),
    "node": ("running",),
    "pool": ("WorkerPool",),
    "ports": ("Page", "Runtime", "transactional_queue"),
    "registry": ("Registry", "handler"),
    "runtime": ("open_runtime",),
    "settings": ("load_settings",),
    "tenants": ("bound_tenant", "tenant_bound"),
    "worker": ("Worker",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BackendUnavailable",
    "Contribution",
    "Discard",
    "Enqueued",
    "ErrorInfo",
    "Failure",
    "InvalidJob",
    "Job",
    "JobContext",
    "Jobs",
    "JobsDisabled",
    "JobsError",
    "NotATransaction",
    "Page",
    "PayloadTooLarge",
    "Priority",
    "Registry",
    "Retry",
    "Runtime",
    "SchemaMismatch",
    "SettingsError",
    "Snooze",
    "Status",
    "Success",
    "TenantMismatch",
    "Undecodable",
    "WiringError",
    "Worker",
    "WorkerPool",
    "bound_tenant",
    "collected",
    "handler",
    "load_settings",
    "new_job",
    "open_runtime",
    "ref",
    "running",
    "tenant_bound",
    "transactional_queue",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
