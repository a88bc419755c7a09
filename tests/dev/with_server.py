"""Runs a Python program with a private, throw-away server as its store.

    python -m tests.dev.with_server redis -m examples.shop

The program finds the server as any node would: through WAGOE_JOBS__PROVIDER and WAGOE_JOBS__DB__URL or
WAGOE_JOBS__REDIS__URL. Server and data are gone when it ends.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from examples.shop.nodes import tied_to_us
from tests.servers import MariaDbServer, PostgresServer, RedisServer

KINDS = {"postgres": PostgresServer, "mariadb": MariaDbServer, "redis": RedisServer}


def main(kind: str, arguments: Sequence[str]) -> int:
    """The program's exit code. An interrupt is the program's to handle, once it is there; TERM is passed on.

    One that comes while the server or the program starts is held: the program begins with it blocked.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    with KINDS[kind]() as server, server.database() as url:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        program = subprocess.Popen(
            [*tied_to_us(), sys.executable, *arguments], env={**os.environ, **environment(kind, url)}
        )
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        signal.signal(signal.SIGTERM, lambda *_: program.terminate())
        while True:
            try:
                return program.wait()
            except KeyboardInterrupt:
                continue


def environment(kind: str, url: str) -> Mapping[str, str]:
    """What tells a node of its store."""
    if kind == "redis":
        return {"WAGOE_JOBS__PROVIDER": "redis", "WAGOE_JOBS__REDIS__URL": url}
    return {"WAGOE_JOBS__PROVIDER": "db", "WAGOE_JOBS__DB__URL": url}


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit(130)
