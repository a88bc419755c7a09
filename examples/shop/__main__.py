"""`python -m examples.shop` is what `./dev run` starts."""

import signal
import sys


def main() -> int:
    try:
        # ./dev holds an interrupt back while Python starts; it takes effect here, when all is there to end quietly
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        from examples.shop.runner import main as run  # noqa: PLC0415 - see above

        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
