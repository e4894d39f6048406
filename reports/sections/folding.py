"""Reports of many models: charts and pairs show the best, the baseline and the models that were asked for."""

from collections.abc import Iterable
from dataclasses import replace

from concord.metrics_core.results.comparison import Comparison

MOST_MODELS = 30  # of which all pairs and lines are shown
_BEST = 15


def folded(comparison: Comparison, asked: Iterable[str]) -> Comparison:
    """Return the comparison of the models that charts and pairs show; all of them up to 30.

    asked : models that are shown wherever they stand; a gate asks for those that it names, if it names few
    """
    if len(comparison.models) <= MOST_MODELS:
        return comparison
    shown = {*comparison.ranked[:_BEST], comparison.baseline, *asked}
    shown.update(*(comparison.leaders(label) for label in comparison.primary))
    if comparison.gate and len(comparison.gate.models) <= _BEST:
        shown.update(each.model for each in comparison.gate.models)
    return replace(
        comparison,
        models=tuple(model for model in comparison.models if model in shown),
        scores=tuple(each for each in comparison.scores if each.model in shown),
        pairs=tuple(each for each in comparison.pairs if {each.a, each.b} <= shown),
        distributions=tuple(each for each in comparison.distributions if each.a in shown),
    )


def fold_note(comparison: Comparison, shown: Comparison) -> str:
    """Return what is left out, as a sentence; empty if nothing is."""
    if shown is comparison:
        return ""
    return (
        f"{len(shown.models)} of {len(comparison.models):,} models are shown here: the best {_BEST} on"
        f" {comparison.primary[0]}, the leaders of the other primary metrics, {comparison.baseline}, and those that were"
        " asked for. The leaderboard and the tables of differences hold all models, the files of the comparison all pairs."
    )
