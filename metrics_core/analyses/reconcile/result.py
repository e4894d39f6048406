"""The result of `reconcile`: the definitions that give numbers from elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from concord.metrics_core.evaluation.definition_search import ConventionMatch
from concord.metrics_core.results.base import BaseResult

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, repr=False)
class Reconciliation(BaseResult):
    """Definitions that give the numbers, best first, then the nearest of the others.

    Attributes
    ----------
    values : dict
        The numbers as printed, by metric.
    definitions : tuple of ConventionMatch
        Those that match, then the nearest of those that do not.
    n_units : int
        Number of users, or requests, of the ground truth. A mean over fewer leaves some out.

    Examples
    --------
    >>> import concord as cc
    >>> result = cc.reconcile({"u1": ["a", "b"]}, {"u1": ["b"]}, value="0.5", metric="P@2")
    >>> result.matches[0].presets[:2]
    ('standard', 'bellei')
    """

    values: Mapping[str, str]
    definitions: tuple[ConventionMatch, ...]
    n_units: int

    @property
    def matches(self) -> tuple[ConventionMatch, ...]:
        """The definitions that give every number."""
        return tuple(each for each in self.definitions if each.matches)

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per definition and metric; changes are text."""
        import polars as pl

        schema: dict[str, Any] = {
            "metric": pl.String,
            "mean": pl.Float64,
            "n_units": pl.Int64,
            "matches": pl.Boolean,
            "is_cut": pl.Boolean,
            "chance": pl.Float64,
            **dict.fromkeys(("presets", "presets_with_null", "changes"), pl.List(pl.String)),
        }
        rows = [
            (
                metric,
                mean,
                each.n_units[metric],
                each.matches,
                each.is_cut,
                each.chance,
                [*each.presets],
                [*each.presets_with_null],
                each.change_texts,
            )
            for each in self.definitions
            for metric, mean in each.means.items()
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")
