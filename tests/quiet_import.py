"""A program that imports the package and says "quiet", or what it did besides loading code."""

import os
import sys
import threading

CODE = (".py", ".pyc", ".so", ".pth", ".zip")
LOOKED_UP = (".dist-info", ".egg-info", "/zoneinfo")  # what is installed, which pydantic looks for plug-ins in
NEVER = ("socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.mkdir", "os.remove", "sqlite3.connect")
seen: list[str] = []
watching = False


def watch(event: str, args: tuple[object, ...]) -> None:
    """Note what importing must not do: open anything but code, connect, start a process or a thread."""
    if not watching:
        return
    if event == "open":
        path, mode = str(args[0]), str(args[1])
        if "w" in mode or "a" in mode or not (path.endswith(CODE) or any(part in path for part in LOOKED_UP)):
            seen.append(f"open {path} {mode}")
    elif event in NEVER:
        seen.append(f"{event} {args}")


sys.addaudithook(watch)
before = dict(os.environ)
sys.dont_write_bytecode = True
watching = True
import wagoe_jobs  # noqa: E402

for name in wagoe_jobs.__all__:
    getattr(wagoe_jobs, name)
import wagoe_jobs.containers  # noqa: E402
import wagoe_jobs.node  # noqa: E402

watching = False
assert not seen, seen
assert threading.active_count() == 1, threading.enumerate()
assert dict(os.environ) == before
print("quiet")
