"""Segments as grids: models by groups of users or items, with differences to the baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Segmentation, SegmentCell, Verdict
from concord.metrics_core.results.text_format import is_or_are, join_names
from concord.reports.text import numbers
from concord.reports.text.groups import group_phrase
from concord.reports.text.missing_lists import compared_cells
from concord.reports.text.tables import MANY_MODELS

_WORSE: Mapping[Verdict | None, str] = {"worse": "worse", "worse_below_threshold": "slightly worse"}
_MAX_ROWS = 8  # models of a grid, if there are many
_N_BEST = 3


@dataclass(frozen=True)
class Cell:
    """A difference to the baseline; a mean if the model is the baseline or has no verdict."""

    text: str
    detail: str = ""
    verdict: str | None = None
    is_reversed: bool = False


@dataclass(frozen=True)
class Line:
    """The cells of a model."""

    model: str
    cells: list[Cell]
    is_baseline: bool


@dataclass(frozen=True)
class Grid:
    """A metric by groups.

    Attributes
    ----------
    higher_is_better : bool or None
        None if the metric has no direction.
    heads : list of tuple
        Name of each group, and its users.
    lines : list of Line
        Models that are shown.
    more : list of Line
        Models that are collapsed.
    """

    label: str
    higher_is_better: bool | None
    heads: list[tuple[str, str]]
    lines: list[Line]
    more: list[Line]


def entries(comparison: Comparison) -> list[Segmentation]:
    """Return the segmentations that have values."""
    return [entry for entry in comparison.segments if entry.cells]


def grids(comparison: Comparison, entry: Segmentation) -> list[Grid]:
    """Return a grid per label, models in the order of the leaderboard below the baseline."""
    decimals = cell_decimals(comparison, entry)
    return [_grid(comparison, entry, label, decimals[label]) for label in entry.labels]


def _grid(comparison: Comparison, entry: Segmentation, label: str, n_digits: int) -> Grid:
    cells = {(c.model, c.segment): c for c in entry.cells if c.label == label}
    groups = [group for group in entry.segments if any(g == group.name for _, g in cells)]
    as_shares = entry.kind == "recommended_item"
    digits = None if as_shares else n_digits
    lines = [
        Line(
            model,
            [_cell(cells.get((model, group.name)), digits) for group in groups],
            model == comparison.baseline,
        )
        for model in [comparison.baseline, *comparison.compared_models]
    ]
    visible = _visible_models(lines)
    is_known = label in comparison.labels
    return Grid(
        label,
        None if as_shares else comparison.metric(label).higher_is_better if is_known else True,
        [(group.name, f"{numbers.count(group.n_users)} users") for group in groups],
        [line for line in lines if line.model in visible],
        [line for line in lines if line.model not in visible],
    )


def _visible_models(lines: Sequence[Line]) -> set[str]:
    """Return all models; if there are many, the baseline, the best, and those with reversals."""
    models = [line.model for line in lines]
    if len(lines) < MANY_MODELS:
        return set(models)
    turning = [line.model for line in lines if any(cell.is_reversed for cell in line.cells)]
    return set(list(dict.fromkeys([*models[: _N_BEST + 1], *turning]))[:_MAX_ROWS])


def _cell(cell: SegmentCell | None, digits: int | None) -> Cell:
    """Return the texts of a cell; a share if there are no digits."""
    if cell is None or cell.mean is None:
        return Cell(numbers.MISSING)
    if digits is None:
        return Cell(numbers.share(cell.mean))
    if cell.verdict is None:
        span = numbers.interval(cell.ci_low, cell.ci_high, digits)
        return Cell(numbers.number(cell.mean, digits), span)
    span = numbers.signed_interval(cell.diff_low, cell.diff_high, digits)
    return Cell(numbers.signed(cell.difference, digits), span, cell.verdict, bool(cell.is_reversed))


def cell_decimals(comparison: Comparison, entry: Segmentation) -> dict[str, int]:
    """Return the decimals of each metric in the cells of a segmentation."""
    return {label: numbers.label_decimals(comparison, label) for label in entry.labels}


def segment_sentences(
    comparison: Comparison, segmentation: Segmentation, cells: Sequence[SegmentCell]
) -> list[str]:
    """Return the sentences on reversed differences in segments, then on losses in segments."""
    baseline = comparison.baseline
    overall = {(pair.label, pair.a): pair for pair in comparison.pairs if pair.vs_baseline}
    reversed_segments: dict[tuple[str, str], list[str]] = {}
    worse: dict[str, dict[tuple[str, str], list[str]]] = {word: {} for word in _WORSE.values()}
    for cell in compared_cells(comparison, segmentation, cells):
        key = (cell.label, cell.model)
        if cell.is_reversed:
            reversed_segments.setdefault(key, []).append(cell.segment)
        elif cell.verdict in _WORSE:
            worse[_WORSE[cell.verdict]].setdefault(key, []).append(cell.segment)
    sentences = []
    above = {key: (overall[key].difference or 0) > 0 for key in reversed_segments}
    for (label, groups, is_above), models in _group_models(
        segmentation, reversed_segments, above
    ).items():
        sides = ("above", "below") if is_above else ("below", "above")
        sentences.append(
            f"On {label}, {join_names(models)} {is_or_are(models)} {sides[0]} {baseline} over all "
            f"users, but {sides[1]} it for {groups}."
        )
    for word, segments in worse.items():
        for (label, groups, _), models in _group_models(segmentation, segments, {}).items():
            sentences.append(
                f"On {label}, {join_names(models)} {is_or_are(models)} {word} than {baseline} for "
                f"{groups}."
            )
    return sentences


def _group_models(
    segmentation: Segmentation,
    segments: Mapping[tuple[str, str], list[str]],
    above: Mapping[tuple[str, str], bool],
) -> dict[tuple[str, str, bool], list[str]]:
    """Return the models with the same label, segments and side."""
    models: dict[tuple[str, str, bool], list[str]] = {}
    for (label, model), names in segments.items():
        groups = group_phrase(segmentation, names)
        models.setdefault((label, groups, above.get((label, model), False)), []).append(model)
    return models
