"""The parts without a container: a runtime, a registry, a pool. python examples/parts.py"""

from collections.abc import Mapping

from wagoe_jobs import Jobs, Registry, WorkerPool, open_runtime


def shout(args: Mapping[str, str]) -> str:
    return args["text"].upper()


if __name__ == "__main__":
    registry = Registry({"shout": shout})  # the key is the type: no mark is needed
    with open_runtime({"provider": "memory"}) as runtime:
        jobs = Jobs(runtime, registry)
        with WorkerPool(runtime, registry, queues=["default"], count=2):
            made = jobs.enqueue_many([("shout", {"text": text}) for text in ("tea", "pot", "mug")])
            for id in made:
                job = jobs.wait(id, timeout=5)
                print(job and job.result)
        registry.register("whisper", lambda args: args["text"].lower())  # from the next claim on
        print(registry.job_types())
