"""Three houses with the same doors: `memory`, `sql`, `redis`; only `wagoe_jobs.runtime` enters them."""
