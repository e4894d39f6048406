"""Segments: models by groups of users or items, with differences to the baseline."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Segmentation, SegmentCell
from concord.metrics_core.results.text_format import group_values, is_or_are, join_names
from concord.reports.text import numbers
from concord.reports.text.groups import absent_models, compared_cells, group_name, group_phrase
from concord.reports.text.tables import MANY_MODELS
from concord.reports.text.verdict_styles import VERDICTS, phrase

_WORSE = ("worse", "worse_below_threshold")
_MAX_ROWS = 8  # models of a grid, if there are many
_N_BEST = 3
NO_LIST = "no list"


@dataclass(frozen=True)
class Cell:
    """A model in a group: its difference to the baseline, or its mean or share.

    Attributes
    ----------
    value, low, high : float or None
        Difference with its interval; None if there is nothing to compare.
    word : str
        The verdict in words, or that there is no list.
    is_reversed : bool
        True if the difference has the opposite sign to that over all users.
    """

    text: str
    detail: str = ""
    word: str = ""
    verdict: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    is_reversed: bool = False


@dataclass(frozen=True)
class Line:
    """The cells of a model."""

    model: str
    cells: list[Cell]


@dataclass(frozen=True)
class Group:
    """A group of users or items.

    Attributes
    ----------
    name : str
        Its name with its meaning.
    mean : str
        The baseline's mean in the group.
    min_effect : float
        Minimum relevant difference in the group; 0 if there is none.
    note : str
        The reason if there is nothing to compare in the group.
    """

    name: str
    n_users: int
    mean: str
    min_effect: float
    note: str


@dataclass(frozen=True)
class Grid:
    """A metric by groups that have values.

    Attributes
    ----------
    higher_is_better : bool or None
        None if the metric has no direction.
    lines : list of Line
        Models that are shown; with shares, also the baseline.
    n_more : int
        Number of models that only the table shows.
    """

    label: str
    higher_is_better: bool | None
    groups: list[Group]
    lines: list[Line]
    n_more: int


def entries(comparison: Comparison) -> list[Segmentation]:
    """Return the segmentations that have values."""
    return [entry for entry in comparison.segments if entry.cells]


def cells_with_users(entry: Segmentation) -> list[SegmentCell]:
    """Return the cells of groups that have users."""
    names = {group.name for group in entry.segments if group.n_users}
    return [cell for cell in entry.cells if cell.segment in names]


def shows_shares(entry: Segmentation) -> bool:
    """True if the values are shares of lists, of which none is better."""
    return entry.kind == "recommended_item"


def grids(comparison: Comparison, entry: Segmentation) -> list[Grid]:
    """Return a grid per label, models in the order of the leaderboard."""
    return [_grid(comparison, entry, label) for label in entry.labels]


def _grid(comparison: Comparison, entry: Segmentation, label: str) -> Grid:
    cells = {(c.model, c.segment): c for c in entry.cells if c.label == label}
    digits = numbers.label_decimals(comparison, label)
    groups = [
        group
        for group in entry.segments
        if any(g == group.name and cell.mean is not None for (_, g), cell in cells.items())
    ]
    absent, as_shares = absent_models(entry), shows_shares(entry)
    models = comparison.compared_models
    visible = [*comparison.ranked] if as_shares else _visible_models(models, cells.values())
    lines = [
        Line(
            model,
            [
                _share_cell(cells.get((model, group.name)))
                if as_shares
                else _cell(
                    cells.get((model, group.name)),
                    digits,
                    [m for m in (model, comparison.baseline) if m in absent.get(group.name, ())],
                )
                for group in groups
            ],
        )
        for model in visible
    ]
    is_known = label in comparison.labels
    return Grid(
        label,
        None if as_shares else comparison.metric(label).higher_is_better if is_known else True,
        [
            Group(
                group_name(entry, group.name),
                group.n_users,
                numbers.number(mean, digits),
                _group_min_effect(comparison, label, mean),
                _note([line.cells[number] for line in lines]),
            )
            for number, group in enumerate(groups)
            for mean in [_mean(cells.get((comparison.baseline, group.name)))]
        ],
        lines,
        0 if as_shares else len(models) - len(visible),
    )


def verdicts_of(grid: Grid) -> list[str]:
    """Return the verdicts that occur in a grid, in the order of their styles."""
    used = {cell.verdict for line in grid.lines for cell in line.cells}
    return [name for name in VERDICTS if name in used]


def _mean(cell: SegmentCell | None) -> float | None:
    return None if cell is None else cell.mean


def _group_min_effect(comparison: Comparison, label: str, baseline_mean: float | None) -> float:
    """Return the minimum relevant difference of the label, or else of the first primary label."""
    metric = comparison.metric(label if label in comparison.labels else comparison.primary[0])
    if metric.share is not None:
        return metric.share * abs(baseline_mean or 0.0)
    return float(metric.min_effect or 0.0)


def _note(cells: Sequence[Cell]) -> str:
    words = {cell.word for cell in cells if cell.value is None}
    if any(cell.value is not None for cell in cells) or words in (set(), {""}):
        return ""
    return f"{NO_LIST} from any of these models" if words == {NO_LIST} else max(words)


def _visible_models(models: Sequence[str], cells: Iterable[SegmentCell]) -> list[str]:
    """Return all models; if there are many, the best and those with reversals."""
    if len(models) < MANY_MODELS:
        return list(models)
    reversing = {cell.model for cell in cells if cell.is_reversed}
    others = [model for model in models[_N_BEST:] if model in reversing]
    return [*models[:_N_BEST], *others][:_MAX_ROWS]


def _share_cell(cell: SegmentCell | None) -> Cell:
    if cell is None or cell.mean is None:
        return Cell(numbers.MISSING)
    return Cell(numbers.share(cell.mean), value=cell.mean)


def _cell(cell: SegmentCell | None, digits: int, absent: Sequence[str]) -> Cell:
    """Return the difference; if the model or the baseline is absent, there is none."""
    if absent:
        is_model = cell is not None and absent[0] == cell.model
        return Cell(numbers.MISSING, word=NO_LIST if is_model else f"{NO_LIST} from {absent[0]}")
    if cell is None or cell.difference is None or cell.verdict is None:
        return Cell(numbers.MISSING)
    return Cell(
        numbers.signed(cell.difference, digits),
        numbers.signed_interval(cell.diff_low, cell.diff_high, digits),
        phrase(cell.verdict, text=", reversed" if cell.is_reversed else ""),
        cell.verdict,
        cell.difference,
        cell.diff_low,
        cell.diff_high,
        cell.is_reversed,
    )


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
    worse: dict[str, dict[tuple[str, str], list[str]]] = {verdict: {} for verdict in _WORSE}
    for cell in compared_cells(comparison, segmentation, cells):
        key = (cell.label, cell.model)
        if cell.is_reversed:
            reversed_segments.setdefault(key, []).append(cell.segment)
        elif cell.verdict in _WORSE:
            worse[cell.verdict].setdefault(key, []).append(cell.segment)
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
    for verdict, segments in worse.items():
        for (label, groups, _), models in _group_models(segmentation, segments, {}).items():
            margin = numbers.min_effect_text(comparison, label)
            state = phrase(verdict, margin, f" than {baseline} for {groups}")
            sentences.append(f"On {label}, {join_names(models)} {is_or_are(models)} {state}.")
    return sentences


def _group_models(
    segmentation: Segmentation,
    segments: Mapping[tuple[str, str], list[str]],
    above: Mapping[tuple[str, str], bool],
) -> dict[tuple[str, str, bool], list[str]]:
    """Return the models with the same label, segments and side."""
    return group_values(
        ((label, group_phrase(segmentation, names), above.get((label, model), False)), model)
        for (label, model), names in segments.items()
    )
