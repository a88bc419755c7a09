"""The web node: enqueues, and runs nothing (count = 0)."""

from containers.app import node

container = node("web")
