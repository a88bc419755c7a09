"""A private redis: with its log on disk, or without; as one node of a cluster; with TLS, a password, little memory."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from redis import Redis
from redis.exceptions import ConnectionError, TimeoutError

from tests.servers.server import Server, free_port

DATABASES = 1000
SLOTS = 16384

Fsync = Literal["everysec", "always", "no"]


class RedisServer(Server):
    """Redis whose append-only file is flushed once a second, as its documentation advises, unless `fsync` says else.

    `persistent=False` keeps nothing over a restart. `cluster` makes it the one node that has all slots. `tls` gives it
    a certificate of its own, `ca_file`. `settings` are more lines of redis.conf, such as {"maxmemory": "10mb"}.
    """

    package = "redis-server"
    user = "redis"
    polite = signal.SIGTERM
    abrupt = signal.SIGKILL

    def __init__(
        self,
        *,
        fsync: Fsync = "everysec",
        persistent: bool = True,
        cluster: bool = False,
        tls: bool = False,
        password: str | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__()
        self.cluster = cluster
        self.tls = tls
        self.password = password
        self._fsync = fsync
        self._persistent = persistent
        self._more = dict(settings or {})
        self._bus_port = free_port() if cluster else 0
        self._numbers = cycle(range(1, DATABASES))

    def url(self, db: int = 0) -> str:
        """For redis-py; it names the password and the certificate to trust where there are such."""
        scheme, password = (
            "rediss" if self.tls else "redis",
            f":{quote(self.password, safe='')}@" if self.password else "",
        )
        trust = f"?ssl_ca_certs={self.ca_file}" if self.tls else ""
        return f"{scheme}://{password}127.0.0.1:{self.port}/{db}{trust}"

    def client(self, db: int = 0) -> Redis:
        """Of the caller, who closes it. It tries nothing twice."""
        return Redis.from_url(self.url(db), socket_timeout=5, socket_connect_timeout=5, retry=None)

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of an empty database, that of the cluster's only one included."""
        db = 0 if self.cluster else next(self._numbers)
        self.wipe(db)
        yield self.url(db)

    def wipe(self, db: int = 0) -> None:
        with self.client(db) as client:
            client.flushdb()

    @property
    def ca_file(self) -> Path:
        """The certificate that a client has to trust."""
        return self.folder / "server.crt"

    def prepare(self) -> None:
        if self.tls:
            self._make_certificate()

    def command(self) -> Sequence[str | Path]:
        """All settings are arguments, so that no file of the machine is read."""
        arguments = (part for name, value in self._settings().items() for part in (f"--{name}", str(value)))
        return [self.binary("redis-server", "usr/bin"), *arguments]

    def answers(self) -> bool:
        """A node of a cluster answers when it has all slots, which a new one is given here."""
        try:
            with self.client() as client:
                return bool(client.ping()) and (not self.cluster or _has_all_slots(client))
        except (ConnectionError, TimeoutError):
            return False

    def _settings(self) -> dict[str, object]:
        settings: dict[str, object] = {
            "bind": "127.0.0.1",
            "port": 0 if self.tls else self.port,
            "dir": self.folder,
            "databases": DATABASES,
            "save": "",
            "appendonly": "yes" if self._persistent else "no",
            "appendfsync": self._fsync,
        }
        if self.cluster:
            settings |= {"cluster-enabled": "yes", "cluster-port": self._bus_port}
        if self.tls:
            settings |= {"tls-port": self.port, "tls-cert-file": self.ca_file, "tls-key-file": self._key_file}
            settings |= {"tls-ca-cert-file": self.ca_file, "tls-auth-clients": "no"}
        if self.password:
            settings["requirepass"] = self.password
        return settings | self._more

    @property
    def _key_file(self) -> Path:
        return self.folder / "server.key"

    def _make_certificate(self) -> None:
        request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
        names = ["-addext", "subjectAltName=IP:127.0.0.1"]
        self.run(self.binary("openssl", "usr/bin"), *request, *names, "-keyout", self._key_file, "-out", self.ca_file)


def _has_all_slots(client: Redis) -> bool:
    info = client.execute_command("CLUSTER INFO")
    if int(info["cluster_slots_assigned"]) < SLOTS:
        client.execute_command("CLUSTER ADDSLOTSRANGE", 0, SLOTS - 1)
    return bool(info["cluster_state"] == "ok")
