"""The result of `verify`: published means next to recomputed ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from concord.metrics_core.evaluation.definition_search import ConventionMatch
from concord.metrics_core.results.base import BaseResult

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class PublishedMean:
    """A published mean and the recomputed one.

    Attributes
    ----------
    model, label : str
        Model and metric.
    value : str
        The mean as printed.
    published : float
        Its value: 0.33 if `value` is "33%".
    mean : float
        The mean under the given conventions.
    n_units, n_truth : int
        Users, or requests, of this mean, and of the ground truth.
    agrees : bool
        True if `mean` is printed as `value`.
    is_cut : bool
        True if it agrees as its further digits were cut off, not rounded.
    definitions : tuple of ConventionMatch
        Definitions that give `value`, best first; those that also give other published means of
        the table come before others.

    Examples
    --------
    >>> import concord as cc
    >>> import polars as pl
    >>> rows = [("als", "AP@2", "0.25"), ("als", "P@2", "0.50")]
    >>> table = pl.DataFrame(rows, schema=["model", "metric", "value"], orient="row")
    >>> lists, truth = {"u1": ["a", "b"]}, {"u1": ["a", "c", "d", "e"]}
    >>> result = cc.verify({"als": lists}, truth, table)
    >>> first = result.values[0]
    >>> first.published, first.mean, first.agrees
    (0.25, 0.5, False)
    """

    model: str
    label: str
    value: str
    published: float
    mean: float
    n_units: int
    n_truth: int
    agrees: bool
    is_cut: bool
    definitions: tuple[ConventionMatch, ...]


@dataclass(frozen=True)
class Explanation:
    """Conventions that give published means of a table.

    Attributes
    ----------
    preset : str
        Name of a preset; empty for the given conventions with changes.
    changes : dict
        Conventions that differ from the given ones, or from the preset.
    n_values : int
        Number of published means that they give.

    Examples
    --------
    >>> import concord as cc
    >>> import polars as pl
    >>> rows = [("als", "AP@2", "0.25"), ("als", "P@2", "0.50")]
    >>> table = pl.DataFrame(rows, schema=["model", "metric", "value"], orient="row")
    >>> lists, truth = {"u1": ["a", "b"]}, {"u1": ["a", "c", "d", "e"]}
    >>> result = cc.verify({"als": lists}, truth, table)
    >>> result.explanations[0].n_values
    2
    """

    preset: str
    changes: Mapping[str, Any]
    n_values: int


@dataclass(frozen=True, repr=False)
class Verification(BaseResult):
    """Published means next to recomputed ones, and the conventions that explain the differences.

    Attributes
    ----------
    values : tuple of PublishedMean
        Rows of the table.
    explanations : tuple of Explanation
        Presets, and changes of the given conventions, that give the most published means; presets
        first, then few changes. Empty if every mean agrees or none can be explained.

    Examples
    --------
    >>> import concord as cc
    >>> import polars as pl
    >>> rows = [("als", "AP@2", "0.25"), ("als", "P@2", "0.50")]
    >>> table = pl.DataFrame(rows, schema=["model", "metric", "value"], orient="row")
    >>> lists, truth = {"u1": ["a", "b"]}, {"u1": ["a", "c", "d", "e"]}
    >>> result = cc.verify({"als": lists}, truth, table)
    >>> result.agrees, len(result.values)
    (False, 2)
    """

    values: tuple[PublishedMean, ...]
    explanations: tuple[Explanation, ...]

    @property
    def agrees(self) -> bool:
        """True if the given conventions give every published mean."""
        return all(each.agrees for each in self.values)

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per published mean, with presets and changes of its best definition."""
        import polars as pl

        schema: dict[str, Any] = {
            **dict.fromkeys(("model", "metric", "value"), pl.String),
            **dict.fromkeys(("published", "mean"), pl.Float64),
            **dict.fromkeys(("n_units", "n_truth"), pl.Int64),
            "agrees": pl.Boolean,
            **dict.fromkeys(("presets", "presets_with_null", "changes"), pl.List(pl.String)),
        }
        rows = []
        for each in self.values:
            means = (each.value, each.published, each.mean)
            definition: tuple[Any, ...] = (None, None, None)
            if each.definitions:
                best = each.definitions[0]
                definition = ([*best.presets], [*best.presets_with_null], best.change_texts)
            counts = each.n_units, each.n_truth, each.agrees
            rows.append((each.model, each.label, *means, *counts, *definition))
        return pl.DataFrame(rows, schema=schema, orient="row")
