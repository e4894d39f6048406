"""What ranked lists show without ground truth: overlap with the baseline, and behaviour checks."""

from dataclasses import dataclass, field
from typing import Literal

from concord.metrics_core.results.base import OMIT_IF_NONE


@dataclass(frozen=True)
class Overlap:
    """The overlap of a model's lists with those of the baseline.

    Means and shares are over users with a list of both; None without such a user.

    Attributes
    ----------
    model : str
        The model; of a model with replicates, the first one.
    k : int or None
        The largest cutoff; None for whole lists.
    jaccard : float or None
        Mean of |A and B| / |A or B|, where A and B are the items of the two top k.
    rbo : float or None
        Mean rank-biased overlap of the two top k, with p = 0.9.
    same : float or None
        Share of users whose two top k are the same items in the same order.
    n_users : int
        Users with a list of both, of at most 10,000 users of the baseline.
    """

    model: str
    k: int | None
    jaccard: float | None
    rbo: float | None
    same: float | None
    n_users: int


@dataclass(frozen=True)
class BehaviourExample:
    """A user for whom a check fails.

    Attributes
    ----------
    item, rank : str and int, or None
        The forbidden item and its rank; None for `overlap`.
    share : float or None
        The share of the other model's top k that the list keeps; None for `never`.
    """

    user: str
    item: str | None = field(default=None, metadata=OMIT_IF_NONE)
    rank: int | None = field(default=None, metadata=OMIT_IF_NONE)
    share: float | None = field(default=None, metadata=OMIT_IF_NONE)


@dataclass(frozen=True)
class BehaviourCheck:
    """The result of one of the owner's checks on the lists of one model.

    Attributes
    ----------
    name : str
        Name of the check.
    kind : {'never', 'overlap'}
        `never`: some items must not be in the lists of some users; `overlap`: lists must keep a
        share of another model's lists.
    k : int or None
        Only the first k items of each list are checked; None for whole lists.
    n_users : int
        Users whose lists were checked; of `overlap`, of at most 10,000 users of the other model.
    n_failed : int
        Users with a forbidden item, or who keep a smaller share than `at_least`.
    n_places : int or None
        Places in lists that hold a forbidden item; None for `overlap`.
    reference, at_least : str and float, or None
        The other model, and the smallest mean share; None for `never`.
    share : float or None
        Mean over these users of the share of the other model's top k that the list keeps.
    examples : tuple of BehaviourExample
        The first five places by user and rank, or the five users who keep the smallest shares.
    """

    name: str
    kind: Literal["never", "overlap"]
    model: str
    k: int | None
    passed: bool
    n_users: int
    n_failed: int
    examples: tuple[BehaviourExample, ...]
    n_places: int | None = field(default=None, metadata=OMIT_IF_NONE)
    reference: str | None = field(default=None, metadata=OMIT_IF_NONE)
    at_least: float | None = field(default=None, metadata=OMIT_IF_NONE)
    share: float | None = field(default=None, metadata=OMIT_IF_NONE)
