"""The names of all keys, spelled here and in `lua/shared_keys.lua` only.

They live under one prefix that holds a hash tag, so that on a cluster all of them are on one node.
"""

from dataclasses import dataclass

from redis.crc import key_slot

from wagoe_jobs.core.job import PRIORITIES
from wagoe_jobs.errors import SettingsError

DEFAULT_PREFIX = "{wagoe}:"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one store. Raises SettingsError for a prefix without a hash tag."""

    prefix: str = DEFAULT_PREFIX

    def __post_init__(self) -> None:
        start = self.prefix.find("{")
        if start < 0 or self.prefix.find("}", start) < start + 2 or not self.prefix.isprintable():
            raise SettingsError("jobs.redis.prefix", "must hold a hash tag, as {wagoe}: does")

    @property
    def seq(self) -> str:
        """The counter of places in the line; what scripts are given to find all other keys by."""
        return f"{self.prefix}seq"

    @property
    def slot(self) -> int:
        """The slot of a cluster that all keys are in."""
        return key_slot(self.prefix.encode())

    def job(self, id: str) -> str:
        return f"{self.prefix}job:{id}"

    def line(self, queue: str, rank: int) -> str:
        """Ready ids by their place."""
        return f"{self.prefix}queue:{queue}:{PRIORITIES[rank]}"

    def lines(self, queue: str) -> list[str]:
        """All lines of a queue, most urgent first."""
        return [self.line(queue, rank) for rank in range(len(PRIORITIES))]

    @property
    def scheduled(self) -> str:
        """Ids by due time."""
        return f"{self.prefix}jobs:scheduled"

    @property
    def scheduled_counts(self) -> str:
        """How many scheduled jobs each queue has."""
        return f"{self.prefix}scheduled:counts"

    def in_flight(self, queue: str) -> str:
        """Claimed ids by the end of their leases."""
        return f"{self.prefix}inflight:{queue}"

    @property
    def queues(self) -> str:
        """Every queue that ever held something."""
        return f"{self.prefix}queues"

    @property
    def jobs(self) -> str:
        """Every id, in the order of ids."""
        return f"{self.prefix}jobs"

    @property
    def failed(self) -> str:
        """Dead letters by the time of their end."""
        return f"{self.prefix}jobs:failed"

    def ended(self, queue: str, status: str) -> str:
        """Ended ids of a queue by the time of their end."""
        return f"{self.prefix}ended:{queue}:{status}"

    def ended_type(self, type: str) -> str:
        """Completed and cancelled ids of a type by the time of their end."""
        return f"{self.prefix}ended-type:{type}"

    def failed_type(self, type: str) -> str:
        """Dead letters of a type by the time of their end; apart, since they never expire."""
        return f"{self.prefix}failed-type:{type}"

    def wake(self, queue: str) -> str:
        """A list of one token while there is news that nobody has heard."""
        return f"{self.prefix}wake:{queue}"

    def batch(self, queue: str, worker: str) -> str:
        """What the worker's last claim from the queue was."""
        return f"{self.prefix}batch:{queue}:{worker}"

    def revoked(self, token: str) -> str:
        """There while nothing may be claimed under this token any more."""
        return f"{self.prefix}revoked:{token}"

    def key(self, scope: str, key: str) -> str:
        """An idempotency key; the length keeps two pairs of scope and key apart."""
        return f"{self.prefix}key:{len(scope.encode())}:{scope}:{key}"

    @property
    def keys(self) -> str:
        """Idempotency keys by expiry; a member is the key's name without the prefix."""
        return f"{self.prefix}keys"

    def worker(self, name: str) -> str:
        return f"{self.prefix}worker:{name}"

    @property
    def workers(self) -> str:
        return f"{self.prefix}workers"

    @property
    def recurring(self) -> str:
        return f"{self.prefix}recurring"

    @property
    def ticker(self) -> str:
        return f"{self.prefix}ticker"
