"""How many jobs a lane claims at a time, from how long its jobs have taken so far."""

from wagoe_jobs.context import monotonic_us

LARGEST_BATCH = 400
HORIZON_US = 15_000
"""How long claimed work should last: the next exchange is spread over it, and no job waits much longer."""
QUICK_US = 500
"""Jobs that take less are run by one slot: waking another costs more than it brings."""


class Pace:
    """How many jobs a claim should bring: what the slots get through in `HORIZON_US`, growing at most twofold."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._batch = slots
        self._per_job = 0.0
        self._mean_run = float(QUICK_US)
        self._last = (0, 0, 0, 0)

    @property
    def quick(self) -> bool:
        """Whether one slot alone is fast enough."""
        return self._mean_run < QUICK_US

    @property
    def horizon(self) -> int:
        """How many claimed jobs may wait while all slots are busy: as many as will start soon."""
        return min(self._batch, int(HORIZON_US / self._per_job)) if self._per_job else 0

    def fetched(self, ready: int, runs: int, busy_us: int) -> None:
        """After an exchange: so many claims wait now, so many runs have ended until now and took so long in all."""
        self._last = (monotonic_us(), ready, runs, busy_us)

    def measure(self, ready: int, runs: int, busy_us: int) -> None:
        """Before an exchange: learn from what became of these counts since the last one."""
        then_us, ready_then, runs_then, busy_then_us = self._last
        if (taken := ready_then - ready) > 0:
            self.note(taken, monotonic_us() - then_us, runs - runs_then, busy_us - busy_then_us)

    def note(self, jobs: int, elapsed_us: int, runs: int, busy_us: int) -> None:
        """`jobs` were taken up within `elapsed_us`; meanwhile `runs` ended, which took `busy_us` in all."""
        if runs > 0:
            self._mean_run = (self._mean_run + busy_us / runs) / 2
        # A batch that fits into idle slots is taken up at once, which says nothing of how fast they run.
        per_job = max(elapsed_us / jobs, self._mean_run / self._slots)
        self._per_job = (self._per_job + per_job) / 2 if self._per_job else per_job

    def stalled(self) -> None:
        """Claimed jobs did not get started: only free slots are filled, until batches have grown again."""
        self._batch = 0

    def limit(self, free: int) -> int:
        """How many to claim when so many slots are free: at least those, even if jobs outlast the horizon."""
        target = int(HORIZON_US / self._per_job) if self._per_job else self._slots
        self._batch = min(LARGEST_BATCH, max(free, min(target, 2 * self._batch)))
        return self._batch
