"""Steps of a derivation: how one user's value follows from the list, as a person would write it on paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.metrics.ranked_lists import RankedLists

MAX_TERMS = 20  # of a sum that are written out


@dataclass(frozen=True)
class Steps:
    """The steps of one user's value: a text for each rank that adds to it, and the lines below the list."""

    terms: Mapping[int, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class DerivationInput:
    """Lists of one user, as a derivation reads them.

    judged      : all judged items
    lists       : the relevant ones
    metric, k, parameters : name, cutoff and parameters of the label
    conventions : those of the label
    policy      : the convention that replaces the formula, as `user_no_recs: zero`; empty without one
    listed      : the whole list and its items, if the label reads them
    """

    judged: Judged
    lists: Judged
    metric: str
    k: int | None
    parameters: Mapping[str, float]
    conventions: Conventions
    policy: str = ""
    listed: RankedLists | None = None

    @property
    def ranks(self) -> list[int]:
        """Ranks of the hits in the top k."""
        ranks: list[int] = self.lists.hit_rank[self.lists.within(self.k)].tolist()
        return ranks

    @property
    def cutoff(self) -> int:
        """The cutoff k, or the length of the list."""
        return int(self.lists.cutoff(self.k)[0])

    @property
    def length(self) -> int:
        """Number of items in the list, at most k."""
        return int(self.lists.length(self.k)[0])

    @property
    def reachable(self) -> int:
        """Number of relevant items, at most k."""
        return int(self.lists.reachable(self.k)[0])

    @property
    def n_relevant(self) -> int:
        """Number of relevant items."""
        return int(self.lists.n_relevant[0])


def format_number(value: float) -> str:
    """Return a number with six digits."""
    return f"{value:.6g}"


def format_sum(terms: Sequence[str]) -> str:
    """Return the terms of a sum, the first ones if they are many."""
    more = [f"… {len(terms) - MAX_TERMS} more"] if len(terms) > MAX_TERMS else []
    return " + ".join([*terms[:MAX_TERMS], *more]) or "0"
