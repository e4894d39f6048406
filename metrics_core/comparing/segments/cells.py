"""The cells of a segmentation: each model in each group, against the baseline, tested and corrected together."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.comparing.evidence.asked import Asked, absolute
from concord.metrics_core.comparing.segments.grouped import Grouped
from concord.metrics_core.comparison.parts import Difference, SegmentCell, or_none
from concord.metrics_core.statistics.paired import Column
from concord.metrics_core.statistics.pairs import Paired, benjamini_hochberg, compare, verdict


@dataclass(frozen=True)
class _Cell:
    grouped: Grouped
    segment: str
    model: str
    column: Column
    against: Paired | None  # None for the baseline itself


def cells(
    asked: Asked,
    labels: Iterable[Grouped],
    overall: Mapping[tuple[str, str], Difference],
    unlisted: Collection[str],
) -> list[SegmentCell]:
    """One a label, group and model. Benjamini-Hochberg over all of them.

    overall  : (label, model) -> its difference to the baseline over all users; a group may turn its sign
    unlisted : models that lack the lists of most users
    """
    found = [cell for grouped in labels for cell in _cells(asked, grouped, unlisted)]
    p = np.array([math.nan if c.against is None else c.against.p for c in found], dtype=np.float64)
    adjusted = benjamini_hochberg(p)
    return [
        _told(asked, cell, float(q), overall.get((cell.grouped.text, cell.model)))
        for cell, q in zip(found, adjusted, strict=True)
    ]


def _cells(asked: Asked, grouped: Grouped, unlisted: Collection[str]) -> list[_Cell]:
    found = []
    for segment, values in grouped.values.items():
        others = [model for model in values if model != asked.baseline]
        named = [(model, asked.baseline) for model in others]
        compared = compare(
            values,
            named,
            confidence=asked.confidence,
            clusters=grouped.whose,
            bounds=grouped.bounds,
            unlisted=unlisted,
        )
        against = dict(zip(others, compared, strict=True))
        found += [
            _Cell(grouped, segment, model, grouped.column(segment, model), against.get(model))
            for model in values
        ]
    return found


def _told(asked: Asked, cell: _Cell, p_adjusted: float, overall: Difference | None) -> SegmentCell:
    low, high = cell.column.interval(asked.confidence)
    found, label = cell.against, cell.grouped.label
    told = None
    if found is not None and label is not None:
        told = verdict(
            found,
            p_adjusted,
            alpha=asked.alpha,
            min_effect=_effect(asked, cell),
            higher_is_better=label.metric.higher_is_better,
        )
    return SegmentCell(
        label=cell.grouped.text,
        segment=cell.segment,
        model=cell.model,
        mean=or_none(cell.column.mean),
        ci_low=or_none(low),
        ci_high=or_none(high),
        n_users=cell.column.n_defined,
        difference=None if found is None else or_none(found.difference),
        diff_low=None if found is None else or_none(found.ci_low),
        diff_high=None if found is None else or_none(found.ci_high),
        n_nonzero=None if found is None else found.n_nonzero,
        p_adjusted=None if found is None else or_none(p_adjusted),
        verdict=told,
        turns=found is not None and p_adjusted < asked.alpha and _turned(found.difference, overall),
    )


def _effect(asked: Asked, cell: _Cell) -> float:
    """The smallest difference that matters on the label, or on the first primary one where it is not evaluated."""
    text = cell.grouped.text
    effect = asked.min_effects.get(text, asked.min_effects[asked.primary[0]])
    return absolute(effect, cell.grouped.column(cell.segment, asked.baseline).mean)


def _turned(difference: float, overall: Difference | None) -> bool:
    before = None if overall is None else overall.difference
    return before is not None and before * difference < 0
