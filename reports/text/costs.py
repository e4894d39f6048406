"""Costs of the leading models: metrics and segments on which they are worse than the baseline."""

from collections.abc import Iterator

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.text import numbers
from concord.reports.text.groups import group_phrase
from concord.reports.text.missing_lists import compared_cells
from concord.reports.text.numbers import join_first

_MAX_LABELS, _MAX_SEGMENTS = 4, 3  # in one sentence
_MAX_LEADERS = 3


def costs(comparison: Comparison) -> list[tuple[str, str]]:
    """Return (models, cost) for models other than the baseline that lead on a primary metric."""
    leaders = [model for label in comparison.primary for model in comparison.leaders(label)]
    models = [model for model in dict.fromkeys(leaders) if model != comparison.baseline]
    models_by_cost: dict[str, list[str]] = {}
    for model in models[:_MAX_LEADERS]:
        if cost := _cost(comparison, model):
            models_by_cost.setdefault(cost, []).append(model)
    return [(" and ".join(models), cost) for cost, models in models_by_cost.items()]


def _cost(comparison: Comparison, model: str) -> str:
    labels = join_first(_worse_labels(comparison, model), _MAX_LABELS)
    segments = join_first(_worse_segments(comparison, model), _MAX_SEGMENTS)
    parts = "; and on ".join(filter(None, (labels, segments)))
    return f"worse than {comparison.baseline} on {parts}." if parts else ""


def _worse_labels(comparison: Comparison, model: str) -> Iterator[str]:
    """Yield each metric on which the model is worse, the largest relative loss first.

    A metric is given once, at the main cutoff if the model is worse there. The share of judged
    items describes the judgements, not the model.
    """
    by_stem: dict[str, list[Difference]] = {}
    for label in comparison.labels:
        pair = comparison.difference(model, comparison.baseline, label)
        if comparison.metric(label).name == "Judged":
            continue
        if pair is not None and pair.verdict.startswith("worse"):
            by_stem.setdefault(comparison.metric(label).stem, []).append(pair)
    rows = []
    for pairs in by_stem.values():
        at_main = [d for d in pairs if comparison.metric(d.label).k == comparison.main_cutoff]
        first = (at_main or pairs)[0]
        rows.append((first, [f"@{comparison.metric(d.label).k}" for d in pairs if d is not first]))
    rows.sort(key=lambda row: -abs(row[0].relative or 0.0))
    for pair, cutoffs in rows:
        digits = comparison.decimals[pair.label]
        parts = [*_magnitude(pair.verdict), numbers.signed(pair.difference, digits)]
        if pair.relative is not None:
            parts.append(numbers.relative(pair.relative))
        if not comparison.metric(pair.label).higher_is_better:
            parts.append("lower is better")
        if cutoffs:
            parts.append(f"also {' '.join(cutoffs)}")
        yield f"{pair.label} ({', '.join(parts)})"


def _worse_segments(comparison: Comparison, model: str) -> Iterator[str]:
    """Yield the segments in which the model is worse, the largest loss first."""
    rows = [
        (group_phrase(entry, [cell.segment]), cell)
        for entry in comparison.segments
        for cell in compared_cells(comparison, entry, entry.cells)
        if cell.model == model and cell.verdict is not None and cell.verdict.startswith("worse")
    ]
    rows.sort(key=lambda row: -abs(row[1].difference or 0.0))
    for group, cell in rows:
        digits = numbers.label_decimals(comparison, cell.label)
        parts = [*_magnitude(cell.verdict), numbers.signed(cell.difference, digits)]
        yield f"{cell.label} for {group} ({', '.join(parts)})"


def _magnitude(verdict: str | None) -> list[str]:
    return ["slightly"] if verdict == "worse_below_threshold" else []
