"""Which workers there are, in memory. One that is not heard of is as good as none; dropping it frees its room."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from wagoe_jobs.adapters.memory.state import Heard, MemoryState
from wagoe_jobs.ports import BATCH_LIMIT, GONE_AFTER, RUNNING_LIMIT, Beat, PresentWorker, WorkerCard

_US = timedelta(microseconds=1)


class MemoryWorkerPresence:
    """WorkerPresence over a `MemoryState`."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def announce(self, card: WorkerCard) -> WorkerCard:
        with self._state.lock:
            now = self._state.now_us()
            self._drop(now)
            kept = replace(card, started_us=card.started_us or now)
            self._state.workers[card.name] = Heard(kept, now)
            return kept

    def beat(self, name: str, beat: Beat) -> bool:
        with self._state.lock:
            now = self._state.now_us()
            known = self._state.workers.get(name)
            if known is None or _gone(known, now):
                return False
            polled = None if beat.polled is None else now - beat.polled // _US
            shown = replace(beat, running=tuple(beat.running[:RUNNING_LIMIT]))
            self._state.workers[name] = Heard(known.card, now, polled, shown)
            return True

    def leave(self, name: str) -> bool:
        with self._state.lock:
            known = self._state.workers.pop(name, None)
            return known is not None and not _gone(known, self._state.now_us())

    def list(self) -> Sequence[PresentWorker]:
        with self._state.lock:
            now = self._state.now_us()
            self._drop(now)
            heard = sorted(self._state.workers.values(), key=lambda one: one.card.name)
        return [_present(one, now) for one in heard if not _gone(one, now)]

    def _drop(self, now: int) -> None:
        gone = [name for name, heard in self._state.workers.items() if _gone(heard, now)]
        for name in gone[:BATCH_LIMIT]:
            del self._state.workers[name]


def _gone(heard: Heard, now: int) -> bool:
    return heard.heard_us <= now - GONE_AFTER // _US


def _present(heard: Heard, now: int) -> PresentWorker:
    return PresentWorker(
        card=heard.card,
        age=(now - heard.heard_us) * _US,
        polled_us=heard.polled_us,
        running=heard.beat.running,
        running_count=heard.beat.running_count,
    )
