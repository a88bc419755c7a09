"""Runs one worker node: boots a container, waits for a signal, stops politely."""

import logging

from dependency_injector.containers import DynamicContainer

from wagoe_jobs.cli.exits import Exit
from wagoe_jobs.cli.signals import end_at_once, others_run, signals
from wagoe_jobs.cli.target import jobs_part
from wagoe_jobs.errors import SettingsError
from wagoe_jobs.node import running

log = logging.getLogger("wagoe_jobs.cli")
_NO_SLOTS = (
    "is 0, so that this node would run nothing: is it the web node's container? "
    "Name the worker's with -a, or set the count or WAGOE_JOBS__WORKERS__COUNT"
)


def work(container: DynamicContainer) -> Exit:
    """Run until TERM or INT, and return what the process exits with.

    Raises what starting raises, and SettingsError where there are no slots: such a node is started by other means.
    """
    workers = jobs_part(container).jobs().workers
    if not workers.count:
        raise SettingsError("jobs.workers.count", _NO_SLOTS)
    with signals() as received:
        with running(container):
            log.info("worker node up: queues %s; slots for each: %d", ", ".join(workers.polled), workers.count)
            number = received.wait()
            log.info("stopping on %s: no more jobs are claimed, running ones may end", number.name)
        log.info("stopped")
    if others_run():
        # a handler outlived the time to drain; its job stays claimed until the lease ends, and is run again
        end_at_once(Exit.OK)
    return Exit.OK
