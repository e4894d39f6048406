"""Accuracy against what lies beyond it: each model's first primary mean beside its coverage, novelty …"""

from collections.abc import Mapping

from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evaluated import Models
from concord.metrics_core.comparison.parts import Point, Tradeoff
from concord.metrics_core.metrics.catalogue import Label


def tradeoffs(asked: Asked, models: Models) -> list[Tradeoff]:
    """One a label beyond accuracy at the main cutoff, or without a cutoff."""
    y = asked.of_primary[0]
    return [
        _tradeoff(x, y, models)
        for x in asked.labels
        if x.metric.family == "beyond" and x.k in {None, asked.main_k} and x != y
    ]


def _tradeoff(x: Label, y: Label, models: Models) -> Tradeoff:
    means = {model: (e.mean(str(x)), e.mean(str(y))) for model, e in models.items()}
    known = {m: (a, b) for m, (a, b) in means.items() if a is not None and b is not None}
    return Tradeoff(
        str(x),
        str(y),
        x.metric.higher_is_better,
        y.metric.higher_is_better,
        tuple(
            Point(model, *at, pareto=not _beaten(at, known, x, y)) for model, at in known.items()
        ),
    )


def _beaten(
    at: tuple[float, float], points: Mapping[str, tuple[float, float]], x: Label, y: Label
) -> bool:
    """Is another model at least as good on both and better on one?"""
    signs = [1 if label.metric.higher_is_better else -1 for label in (x, y)]
    mine = [sign * value for sign, value in zip(signs, at, strict=True)]
    others = [[s * v for s, v in zip(signs, other, strict=True)] for other in points.values()]
    return any(o != mine and o[0] >= mine[0] and o[1] >= mine[1] for o in others)
