"""Three houses with the same doors: `memory`, `sql`, `redis`.

Only `wagoe_jobs.runtime` enters them, and the script where a command is about one kind of database.
"""
