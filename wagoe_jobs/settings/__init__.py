"""Settings: the models of the jobs block, and `load_settings`, which reads them from files and environment.

Unknown names, wrong types and impossible values are refused at start as a SettingsError with the full path
and the nearest name. Secrets are in no repr, log line or error.
"""

from wagoe_jobs.settings.sources import Settings, load_settings, read_jobs
from wagoe_jobs.settings.tables import (
    DbSettings,
    JobsRetentionSettings,
    JobsSettings,
    RecurringSettings,
    RedisSettings,
    RetentionSettings,
    RetrySettings,
    SchedulerSettings,
    SentinelSettings,
    WorkersSettings,
)

__all__ = [
    "DbSettings",
    "JobsRetentionSettings",
    "JobsSettings",
    "RecurringSettings",
    "RedisSettings",
    "RetentionSettings",
    "RetrySettings",
    "SchedulerSettings",
    "SentinelSettings",
    "Settings",
    "WorkersSettings",
    "load_settings",
    "read_jobs",
]
