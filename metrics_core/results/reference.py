"""Values that means of models are read against: chance, most popular items, best possible lists."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from concord.metrics_core.results.base import FiniteNumbers

Kind = Literal["chance", "most_popular", "best_possible"]
NAMES: Mapping[Kind, str] = {kind: kind.replace("_", " ") for kind in get_args(Kind)}


@dataclass(frozen=True)
class Reference(FiniteNumbers):
    """Means of a label that need no model; None if unknown.

    Attributes
    ----------
    chance : float or None
        Expected mean of lists in random order.
    most_popular : float or None
        Mean of the same list for all users: the most popular items of train.
    best_possible : float or None
        Mean of lists that hold the relevant items first.
    """

    label: str
    chance: float | None
    most_popular: float | None
    best_possible: float | None


@dataclass(frozen=True)
class ReferenceHits(FiniteNumbers):
    """Relevant items in the top k of all users together; None if unknown.

    Attributes
    ----------
    chance : float or None
        Expected number in lists in random order.
    best_possible : float
        The largest possible number.
    """

    k: int
    chance: float | None
    best_possible: float


@dataclass(frozen=True)
class References:
    """References of all accuracy metrics with a cutoff.

    Attributes
    ----------
    values : tuple of Reference
        One per label, in report order. Chance needs a catalogue or train, or sampled candidates;
        the most popular items need train.
    hits : tuple of ReferenceHits
        One per cutoff, ascending.
    repeats : bool
        True if the most popular items include those that a user has in train, because users of the
        ground truth have such items again.
    """

    values: tuple[Reference, ...]
    hits: tuple[ReferenceHits, ...]
    repeats: bool

    def of(self, label: str) -> Reference | None:
        """Return the references of a label; None if it has none."""
        return next((each for each in self.values if each.label == label), None)
