"""The result of `judge`: what unjudged items can change, and which to judge next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from concord.metrics_core.results.base import OMIT_IF_NONE, BaseResult, frame_of

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class ScoreBounds:
    """A model's mean of a metric, or a difference of means, over all judgements still to be made.

    Attributes
    ----------
    label, model : str
        Metric and model.
    versus : str or None
        The model whose mean is subtracted; None for the mean of `model`.
    current : float or None
        Value if no unjudged item is relevant; None if no user has a relevant item.
    n_users : int
        Users of this value; users without a relevant item may be left out.
    low, high : float
        No judgements lead to a lower or a higher value.
    is_exact : bool
        True if some judgements attain `low`, and some `high`.
    judged : float or None
        Mean share of the listed items, at most k, that are judged; None for a difference.
    residual : float or None
        Residual of RBP: what unjudged items, and those below the list, can add.
    """

    label: str
    model: str
    versus: str | None
    current: float | None
    n_users: int
    low: float
    high: float
    is_exact: bool
    judged: float | None = None
    residual: float | None = None

    @property
    def is_open(self) -> bool:
        """True if the difference may turn out above or below 0; False for a mean."""
        return self.versus is not None and self.low < 0 < self.high


@dataclass(frozen=True)
class NextItem:
    """An item to judge.

    Attributes
    ----------
    user, item : str
        Query and item.
    weight : float
        Largest change of a mean difference that is open, if this item alone is relevant.
    ranks : str
        Models that recommend it, each with its rank, such as "bm25:3 dense:1".
    title : str or None
        Title of the item in the catalogue.
    """

    user: str
    item: str
    weight: float
    ranks: str
    title: str | None


@dataclass(frozen=True, repr=False)
class Judging(BaseResult):
    """What unjudged items can change, and which to judge next.

    Attributes
    ----------
    max_grade : float
        Highest grade that an unjudged item may get.
    n_users : int
        Queries of the ground truth.
    n_unjudged : int
        Pairs of query and item that a list holds and no one judged, for the first metric.
    scores, differences : tuple of ScoreBounds
        Bounds of each model, and of each pair of models, by metric.
    next : tuple of NextItem
        Items to judge next for the first metric, by descending weight.
    words : dict or None
        The words that texts show for user, item and request; None if they show these.

    Examples
    --------
    >>> import concord as cc
    >>> runs = {"bm25": {"q1": ["a", "b"]}, "dense": {"q1": ["c", "a"]}}
    >>> result = cc.search.judge(runs, {"q1": ["a"]}, metrics=["DCG@2"])
    >>> result.differences[0].is_open, result.next[0].item
    (True, 'c')
    """

    max_grade: float
    n_users: int
    n_unjudged: int
    scores: tuple[ScoreBounds, ...]
    differences: tuple[ScoreBounds, ...]
    next: tuple[NextItem, ...]
    words: Mapping[str, str] | None = field(default=None, metadata=OMIT_IF_NONE)

    def to_frame(self) -> "pl.DataFrame":
        """Return the items to judge next, with an empty column `grade`."""
        import polars as pl

        frame = frame_of(NextItem, self.next)
        if frame["title"].is_null().all():
            frame = frame.drop("title")
        grade = pl.Series("grade", [None] * len(frame), dtype=pl.Float64)
        return frame.insert_column(2, grade)
