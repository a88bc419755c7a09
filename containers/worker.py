"""The worker node: `wagoe-jobs worker -a containers.worker:container`."""

from containers.app import node

container = node("worker")
