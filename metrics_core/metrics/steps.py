"""Steps of a derivation: how one user's value follows from the list, as calculated by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.metrics.ranked_lists import RankedLists

MAX_TERMS = 20  # of a sum that are shown


@dataclass(frozen=True)
class Steps:
    """Steps of one user's value.

    Attributes
    ----------
    terms : Mapping[int, str]
        Text for each rank that contributes to the value.
    lines : tuple of str
        Lines below the list.
    """

    terms: Mapping[int, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class DerivationInput:
    """What a derivation reads of one user.

    Attributes
    ----------
    judged : Judged
        All judged items.
    lists : Judged
        The relevant items.
    metric : str
        Name of the metric.
    k : int or None
        Cutoff of the label; None for the whole list.
    parameters : Mapping[str, float]
        Parameters of the label.
    conventions : Conventions
        Conventions of the label.
    policy : str
        Convention that replaces the formula, such as `user_no_recs: zero`; empty if none does.
    ranked_lists : RankedLists or None
        The whole list and its items, if the metric reads them.
    """

    judged: Judged
    lists: Judged
    metric: str
    k: int | None
    parameters: Mapping[str, float]
    conventions: Conventions
    policy: str = ""
    ranked_lists: RankedLists | None = None

    @property
    def ranks(self) -> list[int]:
        """Ranks of the hits in the top k."""
        ranks: list[int] = self.lists.hit_rank[self.lists.within(self.k)].tolist()
        return ranks

    @property
    def cutoff(self) -> int:
        """Cutoff k, or the length of the list."""
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
    """Return a sum as text, with at most `MAX_TERMS` of its terms."""
    omitted = [f"… {len(terms) - MAX_TERMS} more"] if len(terms) > MAX_TERMS else []
    return " + ".join([*terms[:MAX_TERMS], *omitted]) or "0"
