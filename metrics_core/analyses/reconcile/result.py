"""The result of `reconcile`: the definitions of a metric that give a number from elsewhere."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from concord.metrics_core.evaluation.definition_search import ConventionMatch
from concord.metrics_core.results.base import BaseResult

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, repr=False)
class Reconciliation(BaseResult):
    """Definitions that give a number, best first, then the nearest of the others.

    Attributes
    ----------
    value, label : str
        The number as printed, and the metric.
    definitions : tuple of ConventionMatch
        Those that match, then the nearest of those that do not.

    Examples
    --------
    >>> import concord as cc
    >>> result = cc.reconcile({"u1": ["a", "b"]}, {"u1": ["b"]}, value="0.5", metric="P@2")
    >>> result.matches[0].presets[:2]
    ('standard', 'bellei')
    """

    value: str
    label: str
    definitions: tuple[ConventionMatch, ...]

    @property
    def matches(self) -> tuple[ConventionMatch, ...]:
        """The definitions that give the number."""
        return tuple(each for each in self.definitions if each.matches)

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per definition; its changes are text."""
        import polars as pl

        schema: dict[str, Any] = {
            "mean": pl.Float64,
            "matches": pl.Boolean,
            "is_cut": pl.Boolean,
            **dict.fromkeys(("presets", "presets_with_null", "changes"), pl.List(pl.String)),
        }
        rows = [
            (
                each.mean,
                each.matches,
                each.is_cut,
                [*each.presets],
                [*each.presets_with_null],
                each.change_texts,
            )
            for each in self.definitions
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")
