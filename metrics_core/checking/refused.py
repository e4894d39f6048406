"""What conventions refuse of the users of a partition; refusals of several partitions add up to that of the whole."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """Why the users of a partition are not scored.

    said    : in words; may show {users}, {first!r}, {highest:g} and {grades}
    at      : which of the computations refused: the earlier one is told
    users   : how many users are refused; `first`: the first of them
    highest : the highest grade that is refused; `grades`: all that are refused
    """

    said: str
    at: tuple[int, ...] = ()
    users: int = 0
    first: Any = None
    highest: float = 0.0
    grades: tuple[float, ...] = ()

    def __str__(self) -> str:
        shown = {"users": self.users, "first": self.first, "highest": self.highest}
        return self.said.format(**shown, grades=list(self.grades))

    def as_dict(self) -> dict[str, Any]:
        """What `Refusal(**…)` takes."""
        return asdict(self)


class ScoringError(ValueError):
    """Lists and truth that the conventions refuse."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(str(refusal))

    def inside(self, *outer: int) -> "ScoringError":
        """The same, of a computation that is part of others."""
        return ScoringError(replace(self.refusal, at=(*outer, *self.refusal.at)))


def literal(text: str) -> str:
    """A text as `Refusal.said` has it, where it shows nothing."""
    return text.replace("{", "{{").replace("}", "}}")


def first_of(refusals: Iterable[Refusal]) -> Refusal:
    """The refusal that all users at once would meet, from those of partitions."""
    found = list(refusals)
    at = min(tuple(each.at) for each in found)
    told = sorted((each for each in found if tuple(each.at) == at), key=lambda each: each.said)
    firsts = [each.first for each in told if each.first is not None]
    return replace(
        told[0],
        users=sum(each.users for each in told),
        first=min(firsts, default=None),
        highest=max(each.highest for each in told),
        grades=tuple(sorted({grade for each in told for grade in each.grades})),
    )
