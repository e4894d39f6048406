"""Accuracy against what lies beyond it: each model's first primary mean beside its coverage, novelty …"""

from collections.abc import Mapping
from typing import Any

from metrics_core.metrics.catalogue import Label
from pipeline.comparing.choices import Choices
from pipeline.comparing.evaluations import Evaluation

Row = dict[str, Any]


def tradeoff_rows(choices: Choices, evaluations: Mapping[str, Evaluation]) -> list[Row]:
    """One row a label beyond accuracy at the main cutoff, or without a cutoff."""
    y = choices.of_primary[0]
    return [
        _row(x, y, evaluations)
        for x in choices.labels
        if x.metric.family == "beyond" and x.k in {None, choices.main_k} and x != y
    ]


def _row(x: Label, y: Label, evaluations: Mapping[str, Evaluation]) -> Row:
    means = {model: (e.mean(str(x)), e.mean(str(y))) for model, e in evaluations.items()}
    known = {m: (a, b) for m, (a, b) in means.items() if a is not None and b is not None}
    return {
        "x": str(x),
        "y": str(y),
        "x_higher_is_better": x.metric.higher_is_better,
        "y_higher_is_better": y.metric.higher_is_better,
        "points": [
            {"model": model, "x": at[0], "y": at[1], "pareto": not _beaten(at, known, x, y)}
            for model, at in known.items()
        ],
    }


def _beaten(
    at: tuple[float, float], points: Mapping[str, tuple[float, float]], x: Label, y: Label
) -> bool:
    """Is another model at least as good on both and better on one?"""
    signs = [1 if label.metric.higher_is_better else -1 for label in (x, y)]
    mine = [sign * value for sign, value in zip(signs, at, strict=True)]
    others = [[s * v for s, v in zip(signs, other, strict=True)] for other in points.values()]
    return any(o != mine and o[0] >= mine[0] and o[1] >= mine[1] for o in others)
