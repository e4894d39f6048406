"""The result of `cases`: example users and items behind the difference between two models.

A number that does not exist is None; ids are text. The fields are also the keys of cases.json.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from concord.metrics_core.results.base import (
    OMIT_IF_NONE,
    FiniteNumbers,
    PageResult,
    frame_of,
    schema_of,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class MetricValues(FiniteNumbers):
    """One metric of one user with both lists.

    Attributes
    ----------
    reason_a, reason_b : str
        Ranks of the hits and last line of the derivation.
        Empty for metrics that read more than lists and ground truth.
    """

    label: str
    value_a: float | None
    value_b: float | None
    reason_a: str
    reason_b: str


@dataclass(frozen=True)
class JudgedItem:
    """An item of a user's ground truth.

    Attributes
    ----------
    relevant : bool
        True if the grade reaches the threshold of the first metric.
    below : tuple of str
        Metrics whose threshold the grade does not reach.
    rank_a, rank_b : int or None
        Rank in the whole list of each model; None if the list lacks the item.
    """

    item: str
    title: str | None
    grade: float
    relevant: bool
    below: tuple[str, ...]
    rank_a: int | None
    rank_b: int | None


@dataclass(frozen=True)
class RankedItem:
    """An item of a list; `grade` is None if the item is not judged."""

    rank: int
    item: str
    title: str | None
    grade: float | None
    relevant: bool


@dataclass(frozen=True)
class ExampleUser(FiniteNumbers):
    """A user with the lists of both models.

    Attributes
    ----------
    difference : float
        Value of the first metric with a minus that with b.
    n_train : int or None
        Interactions in train; None without train.
    segments : dict
        Segmentation -> the user's segment.
    metric_values : tuple of MetricValues
        One for each metric.
    judged : tuple of JudgedItem
        Best grade first.
    list_a, list_b : tuple of RankedItem
        The lists up to the cutoff.
    jaccard, rbo : float or None
        Overlap of the two lists.
    """

    user: str
    difference: float
    n_train: int | None
    segments: Mapping[str, str]
    metric_values: tuple[MetricValues, ...]
    judged: tuple[JudgedItem, ...]
    list_a: tuple[RankedItem, ...]
    list_b: tuple[RankedItem, ...]
    jaccard: float | None
    rbo: float | None


@dataclass(frozen=True)
class ItemDifference:
    """Recall and exposure of one item in the top k of both models.

    Attributes
    ----------
    n_relevant : int
        Users to whom the item is relevant.
    hits_a, hits_b : int
        Of these, users whose list holds it; recall is their share.
    shown_a, shown_b : int
        Users whose list holds it; exposure is their share of all users.
    """

    item: str
    title: str | None
    n_relevant: int
    hits_a: int
    hits_b: int
    recall_a: float | None
    recall_b: float | None
    shown_a: int
    shown_b: int
    exposure_a: float
    exposure_b: float


@dataclass(frozen=True, repr=False)
class Cases(PageResult):
    """Example users and items behind the difference between a and b.

    Those where a is furthest behind come first.

    Attributes
    ----------
    a, b : str
        Names of the lists.
    model_a, model_b : str
        Names of their models, which differ from those of the lists for models with replicates.
    labels : tuple of str
        Metrics; users are sorted by the first.
    higher_is_better : bool
        Direction of the first metric.
    thresholds : dict
        Metric -> smallest relevant grade; None if every grade is relevant or the metric does not
        need relevance.
    k : int or None
        Cutoff of lists, overlap, recall and exposure; None for whole lists.
    p : float
        Persistence of rank-biased overlap.
    segment, item : str or None
        The requested segment, such as `channel=app`, and the requested item; None for all.
    who : {'users', 'requests'}
        The unit that is evaluated.
    n_users, n_behind, n_ahead : int
        Users with a value from both models; of these, users with a worse and a better one from a.
    jaccard, rbo : float or None
        Means over the users who have a list.
    cases : tuple of ExampleUser
    item_cases : tuple of ItemDifference
        Items that a finds less often than b, or the requested item.
    both_sides : bool
        True if users where a is furthest ahead follow. Then there are no items and no mean overlap,
        since only the lists of the example users were read.
    n_without_list : int
        Of `n_users`, users without a list from a or b; they are no examples.
    n_without_value : int
        Further users without a value from a or b; they are left out.
    words : dict or None
        The words that texts show for user, item and request; None if they show these.

    Examples
    --------
    >>> import concord as cc
    >>> models = {"als": {"ann": ["a", "b"]}, "ease": {"ann": ["b", "a"]}}
    >>> cases = cc.cases(models, {"ann": ["b"]}, model="als", versus="ease", metrics=["RR@2"])
    >>> cases.n_behind, cases.rbo
    (1, 0.9)
    """

    title: str
    a: str
    b: str
    model_a: str
    model_b: str
    labels: tuple[str, ...]
    higher_is_better: bool
    thresholds: Mapping[str, float | None]
    k: int | None
    p: float
    segment: str | None
    item: str | None
    who: str
    n_users: int
    n_behind: int
    n_ahead: int
    jaccard: float | None
    rbo: float | None
    cases: tuple[ExampleUser, ...]
    item_cases: tuple[ItemDifference, ...]
    both_sides: bool = False
    n_without_list: int = 0
    n_without_value: int = 0
    words: Mapping[str, str] | None = field(default=None, metadata=OMIT_IF_NONE)

    @property
    def jaccard_name(self) -> str:
        """`Jaccard@10`."""
        return f"Jaccard{self._at_k}"

    @property
    def rbo_name(self) -> str:
        """`RBO(p=0.9)@10`."""
        return f"RBO(p={self.p:g}){self._at_k}"

    @property
    def _at_k(self) -> str:
        return "" if self.k is None else f"@{self.k}"

    @cached_property
    def segmentations(self) -> dict[str, list[str]]:
        """Segmentation -> the segments of the example users."""
        segments: dict[str, set[str]] = {}
        for user in self.cases:
            for name, segment in user.segments.items():
                segments.setdefault(name, set()).add(segment)
        return {name: sorted(values) for name, values in segments.items()}

    def to_frame(self) -> "pl.DataFrame":
        """Return difference, overlap, interactions in train and segments; one row per user."""
        import polars as pl

        schema = {
            "user": pl.String,
            "difference": pl.Float64,
            self.jaccard_name: pl.Float64,
            self.rbo_name: pl.Float64,
            "n_train": pl.Int64,
            **dict.fromkeys(self.segmentations, pl.String),
        }
        rows = [
            (
                case.user,
                case.difference,
                case.jaccard,
                case.rbo,
                case.n_train,
                *case.segments.values(),
            )
            for case in self.cases
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def values(self) -> "pl.DataFrame":
        """One row per user and metric: user, then the fields of `MetricValues`."""
        rows = (
            {"user": each.user, **vars(values)}
            for each in self.cases
            for values in each.metric_values
        )
        return _to_frame(rows, MetricValues, "user")

    @property
    def judged(self) -> "pl.DataFrame":
        """One row per user and item of the ground truth: user, then the fields of `JudgedItem`."""
        rows = (
            {"user": each.user, **vars(item), "below": ", ".join(item.below)}
            for each in self.cases
            for item in each.judged
        )
        return _to_frame(rows, JudgedItem, "user")

    @property
    def lists(self) -> "pl.DataFrame":
        """One row per user, list and rank: user, list, then the fields of `RankedItem`."""
        rows = (
            {"user": each.user, "list": name, **vars(item)}
            for each in self.cases
            for name, items in ((self.a, each.list_a), (self.b, each.list_b))
            for item in items
        )
        return _to_frame(rows, RankedItem, "user", "list")

    @property
    def items(self) -> "pl.DataFrame":
        """One row per item, columns as the fields of `ItemDifference`."""
        return frame_of(ItemDifference, self.item_cases)


def _to_frame(rows: Iterable[Mapping[str, Any]], kind: type[Any], *keys: str) -> "pl.DataFrame":
    """Return rows of text keys and the fields of a class."""
    import polars as pl

    schema = schema_of(kind)  # type: ignore[arg-type] # a class can be hashed
    return pl.DataFrame(list(rows), schema={**dict.fromkeys(keys, pl.String), **schema})
