"""How workers are called where people see them: in `locked_by`, in lists of workers, in logs."""

import os
import socket
from secrets import token_hex

from wagoe_jobs.core.clean import clean
from wagoe_jobs.core.job import NAME_LIMIT

UNKNOWN = "unknown"
_HOST_LIMIT = NAME_LIMIT // 2


def host_name() -> str:
    """This host's name as far as it can be printed, at most half as long as a name may be."""
    return clean(socket.gethostname()).strip()[:_HOST_LIMIT].strip() or UNKNOWN


def worker_name() -> str:
    """`host:pid:random`: no other process and no other start has the same."""
    return f"{host_name()}:{os.getpid()}:{token_hex(4)}"
