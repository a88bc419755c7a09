"""Modules: what a system is made of, and what each adds to it.

A module is a dotted name, a Python module, a dependency-injector container, or an object with
`configure(settings, enabled) -> Contribution`; without `configure`, its attribute `job_handlers` is taken.
`assemble` loads them and connects what they refer to. It opens nothing: whatever does not fit is refused
here, by name.
"""

from wagoe_jobs.modules.assembly import Assembling, Assembly, Needing, assemble
from wagoe_jobs.modules.contribution import Contribution, Module
from wagoe_jobs.modules.handlers import registry_of
from wagoe_jobs.modules.loading import load_modules
from wagoe_jobs.modules.references import Collected, Ref, collected, ref, refuse_circles

__all__ = [
    "Assembling",
    "Assembly",
    "Collected",
    "Contribution",
    "Module",
    "Needing",
    "Ref",
    "assemble",
    "collected",
    "load_modules",
    "ref",
    "refuse_circles",
    "registry_of",
]
