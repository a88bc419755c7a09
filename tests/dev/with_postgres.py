"""Runs a Python program with a private, throw-away PostgreSQL as its jobs database.

    python -m tests.dev.with_postgres -m examples.postcards

The program finds the server through WAGOE_JOBS__DB__URL. Server and data are gone when it ends.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from tests.servers import PostgresServer


def main(arguments: Sequence[str]) -> int:
    """The program's exit code. An interrupt is the program's to handle; TERM is passed on."""
    with PostgresServer() as server, server.database() as url:
        environment = {**os.environ, "WAGOE_JOBS__DB__URL": url}
        program = subprocess.Popen([sys.executable, *arguments], env=environment)
        signal.signal(signal.SIGTERM, lambda *_: program.terminate())
        while True:
            try:
                return program.wait()
            except KeyboardInterrupt:
                continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
