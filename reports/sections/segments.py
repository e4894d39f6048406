"""Segments as grids: models against groups of users or items, with the difference to the baseline in each cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Segmentation, SegmentCell
from concord.reports.writing import numbers

_SHOWN = 8  # models of a grid, where there are many
_BEST = 3
_MANY_MODELS = 12


@dataclass(frozen=True)
class Cell:
    """A difference to the baseline; of the baseline, and where nothing is better or worse, a mean."""

    text: str
    beside: str
    verdict: str | None
    turns: bool


@dataclass(frozen=True)
class Line:
    model: str
    cells: list[Cell]
    is_baseline: bool


@dataclass(frozen=True)
class Grid:
    """`lines` are shown, `more` can be opened; `heads` are names of groups with their users."""

    label: str
    higher_is_better: bool | None
    heads: list[tuple[str, str]]
    lines: list[Line]
    more: list[Line]


def entries(comparison: Comparison) -> list[Segmentation]:
    return [entry for entry in comparison.segments if entry.cells]


def grids(comparison: Comparison, entry: Segmentation) -> list[Grid]:
    """One grid a label, models in the order of the leaderboard below the baseline."""
    return [_grid(comparison, entry, label) for label in entry.labels]


def rows(comparison: Comparison, entry: Segmentation) -> list[dict[str, Any]]:
    """Every cell in full, as text, for the table behind."""
    digits = {label: _digits(entry, label) for label in entry.labels}
    return [
        {
            **vars(cell),
            "mean_text": numbers.number(cell.mean, digits[cell.label]),
            "interval": numbers.interval(cell.ci_low, cell.ci_high, digits[cell.label]),
            "difference_text": numbers.signed(cell.difference, digits[cell.label]),
            "difference_interval": numbers.signed_interval(
                cell.diff_low, cell.diff_high, digits[cell.label]
            ),
        }
        for cell in entry.cells
    ]


def gaps(entry: Segmentation) -> list[dict[str, Any]]:
    """Largest minus smallest mean of a group, as text."""
    return [
        {
            **vars(gap),
            "gap_text": numbers.number(gap.gap, _digits(entry, gap.label)),
            "interval": numbers.interval(gap.ci_low, gap.ci_high, _digits(entry, gap.label)),
            "difference_text": numbers.signed(gap.difference, _digits(entry, gap.label)),
            "difference_interval": numbers.signed_interval(
                gap.diff_low, gap.diff_high, _digits(entry, gap.label)
            ),
        }
        for gap in entry.gaps
    ]


def _grid(comparison: Comparison, entry: Segmentation, label: str) -> Grid:
    cells = {(c.model, c.segment): c for c in entry.cells if c.label == label}
    groups = [group for group in entry.segments if any(g == group.name for _, g in cells)]
    names = [group.name for group in groups]
    digits = _digits(entry, label)
    as_means = entry.kind == "recommended_item"
    ordered = [comparison.baseline, *comparison.challengers]
    lines = [
        Line(
            model,
            [_cell(cells.get((model, name)), digits, as_means=as_means) for name in names],
            model == comparison.baseline,
        )
        for model in ordered
    ]
    shown = _shown(lines)
    known = label in comparison.labels
    return Grid(
        label,
        None if as_means else comparison.metric(label).higher_is_better if known else True,
        [(group.name, f"{numbers.count(group.n_users)} users") for group in groups],
        [line for line in lines if line.model in shown],
        [line for line in lines if line.model not in shown],
    )


def _shown(lines: Sequence[Line]) -> set[str]:
    """With many models the baseline, the best, and those whose sign turns somewhere."""
    if len(lines) < _MANY_MODELS:
        return {line.model for line in lines}
    first = [line.model for line in lines[: _BEST + 1]]
    turning = [line.model for line in lines if any(cell.turns for cell in line.cells)]
    return set(list(dict.fromkeys([*first, *turning]))[:_SHOWN])


def _cell(cell: SegmentCell | None, digits: int, *, as_means: bool) -> Cell:
    if cell is None or cell.mean is None:
        return Cell(numbers.MISSING, "", None, turns=False)
    if as_means:
        return Cell(numbers.share(cell.mean), "", None, turns=False)
    if cell.verdict is None:
        span = numbers.interval(cell.ci_low, cell.ci_high, digits)
        return Cell(numbers.number(cell.mean, digits), span, None, turns=False)
    span = numbers.signed_interval(cell.diff_low, cell.diff_high, digits)
    text = numbers.signed(cell.difference, digits)
    return Cell(text, span, cell.verdict, bool(cell.turns))


def _digits(entry: Segmentation, label: str) -> int:
    cells = [cell for cell in entry.cells if cell.label == label]
    return min(numbers.decimals(cells, [cell.mean for cell in cells]), 3)
