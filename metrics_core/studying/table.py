"""The table models x data sets of one label: means, differences to the baseline, ranks and how sure they are."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Difference, or_nan
from concord.metrics_core.statistics.adjust import holm
from concord.metrics_core.studying.parts import Cell
from concord.metrics_core.studying.ranks import average_ranks, rank_intervals


def cells_of(
    label: str, comparisons: Mapping[str, Comparison], models: Sequence[str], baseline: str
) -> list[Cell]:
    """A cell a data set and model, in the order of both."""
    return [
        cell
        for name, comparison in comparisons.items()
        for cell in _of_dataset(label, name, comparison, models, baseline)
    ]


def _of_dataset(
    label: str, name: str, comparison: Comparison, models: Sequence[str], baseline: str
) -> Iterator[Cell]:
    scores = {model: comparison.score(model, label) for model in models}
    known = {model: score.mean for model, score in scores.items() if score.mean is not None}
    ranks = average_ranks(known, higher_is_better=comparison.metric(label).higher_is_better)
    open_ranks = rank_intervals(list(known), surely_above(label, comparison, list(known)))
    for model, score in scores.items():
        pair = comparison.difference(model, baseline, label)
        low, high = open_ranks.get(model, (None, None))
        yield Cell(
            label=label,
            dataset=name,
            model=model,
            mean=score.mean,
            ci_low=score.ci_low,
            ci_high=score.ci_high,
            n_users=score.n_users,
            **_to_baseline(pair),
            relative=0.0 if model == baseline and (score.mean or 0) > 0 else _relative(pair, known, model, baseline),
            verdict=pair.verdict if pair else None,
            rank=ranks.get(model),
            rank_low=low,
            rank_high=high,
        )  # fmt: skip


def _to_baseline(pair: Difference | None) -> dict[str, float | None]:
    if pair is None:
        return dict.fromkeys(("difference", "diff_low", "diff_high"))
    return {"difference": pair.difference, "diff_low": pair.ci_low, "diff_high": pair.ci_high}


def _relative(
    pair: Difference | None, means: Mapping[str, float], model: str, baseline: str
) -> float | None:
    """That of the pair; where it was not compared, that of the two means."""
    if pair is not None:
        return pair.relative
    if model not in means or not means.get(baseline, 0) > 0:
        return None
    return (means[model] - means[baseline]) / means[baseline]


def surely_above(label: str, comparison: Comparison, models: Sequence[str]) -> set[tuple[str, str]]:
    """(better, worse) of each pair that this data set tells apart, p by Holm over all pairs of these models."""
    pairs = [comparison.difference(a, b, label) for a, b in combinations(models, 2)]
    tested = [pair for pair in pairs if pair is not None]
    adjusted = holm(np.array([or_nan(pair.p) for pair in tested]))
    sign = 1 if comparison.metric(label).higher_is_better else -1
    return {
        (pair.a, pair.b) if sign * or_nan(pair.difference) > 0 else (pair.b, pair.a)
        for pair, p in zip(tested, adjusted.tolist(), strict=True)
        if p < 1 - comparison.confidence
    }
