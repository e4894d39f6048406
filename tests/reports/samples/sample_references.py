"""References of comparisons, made by hand."""

from collections.abc import Mapping
from dataclasses import replace

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.reference import Reference, References

Means = tuple[float | None, float | None, float | None]  # chance, most popular, best possible
MEANS: Means = (0.004, 0.176, 0.981)


def with_references(
    comparison: Comparison, means: Mapping[str, Means] | None = None, *, repeats: bool = False
) -> Comparison:
    """Return the comparison with these means; by default the same for all labels with a cutoff."""
    if means is None:
        means = {metric.label: MEANS for metric in comparison.metrics if metric.k is not None}
    values = tuple(Reference(label, *each) for label, each in means.items())
    return replace(comparison, references=References(values, (), repeats=repeats))
