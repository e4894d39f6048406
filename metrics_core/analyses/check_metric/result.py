"""The result of `check_metric`: properties of a ranking metric that a custom metric has."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from concord.metrics_core.results.base import BaseResult, frame_of

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class PropertyCheck:
    """One property of a metric.

    Attributes
    ----------
    cases : int
        Random cases that were tried.
    counterexample : str
        The first case without the property; empty if there is none.

    Examples
    --------
    >>> import concord as cc
    >>> @cc.metric(high=float("inf"))
    ... def misses(lists, k):
    ...     '''misses@k = number of other items in the top k.'''
    ...     return lists.n_listed - lists.count(k)
    ...
    >>> check = cc.metrics.check_metric("misses").properties[-1]
    >>> check.name
    'a relevant item in place of another never hurts'
    >>> check.holds
    False
    """

    name: str
    cases: int
    counterexample: str = ""

    @property
    def holds(self) -> bool:
        """True if no counterexample was found."""
        return not self.counterexample


@dataclass(frozen=True, repr=False)
class MetricCheck(BaseResult):
    """The properties of a custom metric, in the order in which they were checked.

    Examples
    --------
    >>> import concord as cc
    >>> @cc.metric(high=float("inf"))
    ... def hits(lists, k):
    ...     '''hits@k = number of relevant items in the top k.'''
    ...     return lists.count(k)
    ...
    >>> check = cc.metrics.check_metric("hits")
    >>> check.holds, len(check.properties)
    (True, 6)
    """

    metric: str
    properties: tuple[PropertyCheck, ...]

    @property
    def holds(self) -> bool:
        """True if the metric has every property."""
        return all(each.holds for each in self.properties)

    def to_frame(self) -> "pl.DataFrame":
        """Return name, cases and counterexample; one row per property."""
        return frame_of(PropertyCheck, self.properties)
