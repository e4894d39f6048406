"""Reports of many models: charts and pairs show the best, the baseline and the requested models."""

from collections.abc import Iterable
from dataclasses import replace

from concord.metrics_core.results.comparison import Comparison

_MAX_MODELS = 30  # of which all pairs and lines are shown
_N_BEST = 15


def fold_models(comparison: Comparison, requested: Iterable[str]) -> Comparison:
    """Return the comparison of the models that charts and pairs show; all of them up to 30.

    Parameters
    ----------
    requested : iterable of str
        Models that are shown whatever their rank; the models that a gate names are, too, if they are few.
    """
    if len(comparison.models) <= _MAX_MODELS:
        return comparison
    visible = {*comparison.ranked[:_N_BEST], comparison.baseline, *requested}
    visible.update(*(comparison.leaders(label) for label in comparison.primary))
    if comparison.gate and len(comparison.gate.models) <= _N_BEST:
        visible.update(each.model for each in comparison.gate.models)
    return replace(
        comparison,
        models=tuple(model for model in comparison.models if model in visible),
        scores=tuple(each for each in comparison.scores if each.model in visible),
        pairs=tuple(each for each in comparison.pairs if {each.a, each.b} <= visible),
        distributions=tuple(each for each in comparison.distributions if each.a in visible),
    )


def fold_note(comparison: Comparison, visible: Comparison) -> str:
    """Return what is left out, as a sentence; empty if nothing is."""
    if visible is comparison:
        return ""
    return (
        f"{len(visible.models)} of {len(comparison.models):,} models are shown here: the best "
        f"{_N_BEST} on {comparison.primary[0]}, the leaders of the other primary metrics, "
        f"{comparison.baseline}, and those that were asked for. The leaderboard and the tables of "
        "differences hold all models, the files of the comparison all pairs."
    )
