"""A module of one's own: with a service for its handler, and a settings table. python examples/own_module.py"""

from collections.abc import Mapping

from dependency_injector import providers
from pydantic import BaseModel

from wagoe_jobs import Contribution, handler, running
from wagoe_jobs.containers import JobsContainer


class Mailer:
    """The service."""

    def __init__(self, sender: str) -> None:
        self.sender = sender

    def send(self, to: str, text: str) -> str:
        return f"{self.sender} -> {to}: {text}"


class Greetings:
    """The handler, as an object that is built with what it needs."""

    def __init__(self, mailer: Mailer) -> None:
        self.mailer = mailer

    @handler("greet")
    def greet(self, args: Mapping[str, str]) -> str:
        return self.mailer.send(args["to"], "hello")


class MailSettings(BaseModel, extra="forbid"):
    sender: str = "nobody@example.org"


class Mail:
    """The module. Its table is [mail]; with a model, a slip in it is refused at the start."""

    settings_table = "mail"
    settings_model = MailSettings

    def configure(self, settings: MailSettings, enabled: frozenset[str]) -> Contribution:
        mailer = providers.Singleton(Mailer, sender=settings.sender)
        greetings = providers.Singleton(Greetings, mailer=mailer)
        handlers = providers.List(greetings.provided.greet)
        return Contribution(job_handlers=handlers if "jobs" in enabled else ())


settings = {"jobs": {"provider": "memory"}, "mail": {"sender": "shop@example.org"}}

if __name__ == "__main__":
    with running(JobsContainer(settings=settings, modules=[Mail()])) as system:
        job = system.client().wait(system.client().enqueue("greet", {"to": "ann@example.org"}), timeout=5)
        print(job and job.result)
