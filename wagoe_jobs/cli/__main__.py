"""`python -m wagoe_jobs.cli` is the script `wagoe-jobs`."""

from wagoe_jobs.cli import main

if __name__ == "__main__":
    main()
