"""Enqueueing one job at a time from one process, each contender in turn on the same server."""

from collections.abc import Iterator, Sequence

from bench.drain import Contender, Run, call


def singly(contenders: Sequence[Contender], store: str, url: str, jobs: int, times: int) -> Iterator[Run]:
    """As many rounds as `times`; a contender's first job, for which it connects, is not counted."""
    for _ in range(times):
        for contender in contenders:
            call(contender, url, "reset")
            seconds = float(call(contender, url, "one", str(jobs)))
            yield Run(contender=contender.name, store=store, jobs=jobs, seconds=seconds)
