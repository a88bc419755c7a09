"""`python -m examples.shop` is what `./dev run` starts."""

import signal
import sys


def main() -> int:
    try:
        # ./dev holds an interrupt back while Python starts; it takes effect here, when all is there to end quietly
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        from examples.shop.runner import main as run  # noqa: PLC0415 - see above

        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        try:
            return run()
        finally:
            # while Python ends, one more would show a trace; and for one that passed through a text given to `exec`,
            # as imports do, Python would interrupt itself once more in the place of ending with this code
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
