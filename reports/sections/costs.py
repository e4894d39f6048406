"""What the leading models cost: where they are significantly worse than the baseline, whatever is primary."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, SegmentCell
from concord.reports.writing import numbers

_LABELS, _GROUPS, _LEADERS = 4, 3, 3  # named in one sentence; models told of
_NO_INTERVAL = 3  # decimals of a difference without one


@dataclass(frozen=True)
class _Interval:
    ci_low: float | None
    ci_high: float | None


def costs(comparison: Comparison) -> list[tuple[str, str]]:
    """(models, what they cost) for those that lead on a primary metric, but for the baseline."""
    leading = [
        model
        for label in comparison.primary
        for model in comparison.leaders(label)
        if model != comparison.baseline
    ]
    told: dict[str, list[str]] = {}
    for model in list(dict.fromkeys(leading))[:_LEADERS]:
        told.setdefault(_cost(comparison, model), []).append(model)
    return [(" and ".join(models), cost) for cost, models in told.items()]


def _cost(comparison: Comparison, model: str) -> str:
    labels = list(_labels(comparison, model))
    groups = list(_groups(comparison, model))
    if not labels and not groups:
        return _nothing(comparison)
    parts = [_counted(labels, _LABELS), _counted(groups, _GROUPS)]
    return f"worse than {comparison.baseline} on {'; and on '.join(filter(None, parts))}."


def _nothing(comparison: Comparison) -> str:
    looked = f"{len(comparison.labels)} metrics and cutoffs"
    n = sum(len(entry.segments) for entry in comparison.segments)
    segments = f", in none of {n} segments" if n else ""
    return (
        f"significantly worse than {comparison.baseline} on none of {looked}{segments}. "
        "What is not significant may still be a loss."
    )


def _counted(said: Sequence[str], most: int) -> str:
    more = f" and {len(said) - most} more" if len(said) > most else ""
    return ", ".join(said[:most]) + more


def _labels(comparison: Comparison, model: str) -> Iterator[str]:
    """Each metric once, the largest relative loss first: at the main cutoff, if it is worse there."""
    stems: dict[str, list[Difference]] = {}
    for label in comparison.labels:
        found = comparison.difference(model, comparison.baseline, label)
        if found is not None and found.verdict.startswith("worse"):
            stems.setdefault(comparison.metric(label).stem, []).append(found)
    told = []
    for several in stems.values():
        at_main = [d for d in several if comparison.metric(d.label).k == comparison.main_cutoff]
        chosen = (at_main or several)[0]
        others = [f"@{comparison.metric(d.label).k}" for d in several if d is not chosen]
        told.append((chosen, others))
    told.sort(key=lambda pair: -abs(pair[0].relative or 0.0))
    for chosen, others in told:
        yield f"{chosen.label} ({_size(comparison, chosen, others)})"


def _size(comparison: Comparison, found: Difference, others: Sequence[str]) -> str:
    known = found.ci_low is not None
    digits = numbers.decimals([found], [found.mean_a, found.mean_b]) if known else _NO_INTERVAL
    parts = [*_slightly(found.verdict), numbers.signed(found.difference, digits)]
    if found.relative is not None:
        parts.append(numbers.relative(found.relative))
    if not comparison.metric(found.label).higher_is_better:
        parts.append("lower is better")
    if others:
        parts.append(f"also {' '.join(others)}")
    return ", ".join(parts)


def _groups(comparison: Comparison, model: str) -> Iterator[str]:
    """Segments in which a primary metric, or what is found of a group of items, is worse; the largest loss first."""
    found = [
        (entry.name, cell)
        for entry in comparison.segments
        for cell in entry.cells
        if cell.model == model and cell.verdict is not None and cell.verdict.startswith("worse")
    ]
    found.sort(key=lambda pair: -abs(pair[1].difference or 0.0))
    for name, cell in found:
        yield f"{cell.label} of {name} “{cell.segment}” ({_change(cell)})"


def _change(cell: SegmentCell) -> str:
    digits = numbers.decimals([_Interval(cell.diff_low, cell.diff_high)], [cell.mean])
    return ", ".join([*_slightly(cell.verdict), numbers.signed(cell.difference, digits)])


def _slightly(verdict: str | None) -> list[str]:
    """The word of the verdict where a loss is not surely one that matters."""
    return ["slightly"] if verdict == "worse_below_threshold" else []
