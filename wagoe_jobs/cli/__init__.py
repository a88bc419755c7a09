"""The `wagoe-jobs` script. What it is made of needs the extra `cli`; without that it says so and exits 2."""

import sys

NEEDED = frozenset({"typer", "rich"})


def main() -> None:
    """Run the script with the process's arguments and exit with its code."""
    try:
        from wagoe_jobs.cli.app import run  # here, so that the answer without the extra is a sentence

        code = run(sys.argv[1:])
    except ModuleNotFoundError as missing:
        if missing.name not in NEEDED:
            raise
        sys.stderr.write(f"wagoe-jobs: the script needs {missing.name}: pip install 'wagoe-jobs[cli]'\n")
        code = 2
    except KeyboardInterrupt:  # while it is imported, which takes long enough for a change of mind
        code = 130
    sys.exit(code)
