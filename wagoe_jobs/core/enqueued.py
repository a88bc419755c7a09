"""What enqueuing answers: the job's id, and whether it was there before."""

from uuid import UUID


class Enqueued(UUID):
    """A job's id; `duplicate` says that it was there before and nothing was stored."""

    __slots__ = ("duplicate",)
    duplicate: bool

    def __init__(self, id: UUID, duplicate: bool = False) -> None:
        super().__init__(int=id.int)
        object.__setattr__(self, "duplicate", duplicate)

    def __reduce__(self) -> tuple[type["Enqueued"], tuple[UUID, bool]]:
        return Enqueued, (UUID(int=self.int), self.duplicate)
