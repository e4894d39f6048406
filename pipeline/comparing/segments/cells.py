"""The cells of a segmentation: each model in each group, against the baseline, tested and corrected together."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics_core.scoring.summary import interval_of
from metrics_core.statistics.paired import Column
from metrics_core.statistics.pairs import Paired, benjamini_hochberg, compare, verdict
from pipeline.comparing.choices import Choices, absolute
from pipeline.comparing.differences import or_null
from pipeline.comparing.segments.grouped import Grouped
from pipeline.params.model import Params

Row = dict[str, Any]


@dataclass(frozen=True)
class _Cell:
    grouped: Grouped
    segment: str
    model: str
    column: Column
    against: Paired | None  # None for the baseline itself


def cell_rows(
    params: Params,
    choices: Choices,
    labels: Iterable[Grouped],
    overall: Mapping[tuple[str, str], Row],
) -> list[Row]:
    """One row a label, group and model. Benjamini-Hochberg over all of them.

    overall : (label, model) -> its difference to the baseline over all users; a group may turn its sign
    """
    cells = [cell for grouped in labels for cell in _cells(params, grouped)]
    p = np.array([math.nan if c.against is None else c.against.p for c in cells], dtype=np.float64)
    adjusted = benjamini_hochberg(p)
    return [
        _row(params, choices, cell, float(q), overall.get((cell.grouped.text, cell.model)))
        for cell, q in zip(cells, adjusted, strict=True)
    ]


def _cells(params: Params, grouped: Grouped) -> list[_Cell]:
    baseline, confidence = params.comparison.baseline, params.comparison.confidence
    cells = []
    for segment, values in grouped.values.items():
        others = [model for model in values if model != baseline]
        found = compare(values, [(model, baseline) for model in others], confidence=confidence)
        against = dict(zip(others, found, strict=True))
        cells += [
            _Cell(grouped, segment, model, Column(column), against.get(model))
            for model, column in values.items()
        ]
    return cells


def _row(
    params: Params, choices: Choices, cell: _Cell, p_adjusted: float, overall: Row | None
) -> Row:
    low, high = interval_of(cell.column.values, params.comparison.confidence)
    found, label = cell.against, cell.grouped.label
    row = {
        "label": cell.grouped.text,
        "segment": cell.segment,
        "model": cell.model,
        "mean": or_null(cell.column.mean),
        "ci_low": or_null(low),
        "ci_high": or_null(high),
        "n_users": cell.column.n_defined,
    }
    if found is None:
        return row | dict.fromkeys(_DIFFERENCE) | {"turns": False}
    alpha = 1 - params.comparison.confidence
    told = None
    if label is not None:
        told = verdict(
            found,
            p_adjusted,
            alpha=alpha,
            min_effect=_effect(params, choices, cell),
            higher_is_better=label.metric.higher_is_better,
        )
    numbers = (found.difference, found.ci_low, found.ci_high)
    return (
        row
        | dict(zip(_DIFFERENCE[:3], map(or_null, numbers), strict=True))
        | {
            "n_nonzero": found.n_nonzero,
            "p_adjusted": or_null(p_adjusted),
            "verdict": told,
            "turns": p_adjusted < alpha and _turned(found.difference, overall),
        }
    )


_DIFFERENCE = ("difference", "diff_low", "diff_high", "n_nonzero", "p_adjusted", "verdict")


def _effect(params: Params, choices: Choices, cell: _Cell) -> float:
    """The smallest difference that matters on the label, or on the first primary one where it is not evaluated."""
    text = cell.grouped.text
    effect = choices.min_effects.get(text, choices.min_effects[choices.primary[0]])
    baseline = cell.grouped.values[cell.segment][params.comparison.baseline]
    return absolute(effect, Column(baseline).mean)


def _turned(difference: float, overall: Row | None) -> bool:
    before = None if overall is None else overall["difference"]
    return before is not None and before * difference < 0
