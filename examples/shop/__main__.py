"""`python -m examples.shop` is what `./dev run` starts."""

import sys


def main() -> int:
    try:
        from examples.shop.runner import main as run  # noqa: PLC0415 - so that an interrupt meanwhile leaves no trace

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
