"""Private, throw-away servers for tests and benches: never the machine's own services.

A server is a context manager. It runs from the binaries on this machine, on a free loopback port, with its
data in a temporary folder and the durability that it has by default, as an unprivileged user where we are
root. It ends with the block, and also when this process dies.

    with PostgresServer() as server, server.database() as url:
        engine = create_engine(url)

`kill`, `stop`, `pause` and `start` (same port, same data) make outages. Servers of other kinds subclass `Server`.
"""

from tests.servers.mariadb import MariaDbServer
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer
from tests.servers.server import MissingServer, Server, free_port, place

__all__ = ["MariaDbServer", "MissingServer", "PostgresServer", "RedisServer", "Server", "free_port", "place"]
