"""Runs one worker node: boots a container, waits for a signal, stops politely."""

import logging

from dependency_injector.containers import Container

from wagoe_jobs.cli.exits import Exit
from wagoe_jobs.cli.signals import end_at_once, others_run, signals
from wagoe_jobs.node import running

log = logging.getLogger("wagoe_jobs.cli")


def work(container: Container) -> Exit:
    """Run until TERM or INT, and return what the process exits with. Raises what starting raises."""
    with signals() as received:
        with running(container):
            log.info("worker node up")
            number = received.wait()
            log.info("stopping on %s: no more jobs are claimed, running ones may end", number.name)
        log.info("stopped")
    if others_run():
        # a handler outlived the time to drain; its job stays claimed until the lease ends, and is run again
        end_at_once(Exit.OK)
    return Exit.OK
