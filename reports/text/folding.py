"""Select the models that charts and pairs show if there are many."""

from collections.abc import Iterable
from dataclasses import replace

from concord.metrics_core.results.comparison import Comparison

_MAX_MODELS = 30
_N_BEST = 15


def fold_models(comparison: Comparison, requested: Iterable[str]) -> Comparison:
    """Return the comparison without models that charts and pairs do not show.

    With more than 30 models, they show the best, the baseline, the leader of each primary metric,
    `requested` models and, if they are few, the models of the gate.
    """
    if len(comparison.models) <= _MAX_MODELS:
        return comparison
    visible = {*comparison.ranked[:_N_BEST], comparison.baseline, *requested}
    visible.update(*(comparison.leaders(label) for label in comparison.primary))
    if comparison.gate and len(comparison.gate.models) <= _N_BEST:
        visible.update(each.model for each in comparison.gate.models)
    folded = replace(
        comparison,
        models=tuple(model for model in comparison.models if model in visible),
        scores=tuple(each for each in comparison.scores if each.model in visible),
        pairs=tuple(each for each in comparison.pairs if {each.a, each.b} <= visible),
        distributions=tuple(each for each in comparison.distributions if each.a in visible),
    )
    # The same in all sections.
    vars(folded)["decimals"] = comparison.decimals
    vars(folded)["model_order"] = comparison.model_order  # of which colours depend
    return folded


def fold_note(comparison: Comparison, visible: Comparison) -> str:
    """Return the sentence that names the visible models; empty if all are visible."""
    if visible is comparison:
        return ""
    return (
        f"{len(visible.models)} of {len(comparison.models):,} models are shown here: the best "
        f"{_N_BEST} on {comparison.primary[0]}, the leaders of the other primary metrics, "
        f"{comparison.baseline}, and those that were requested. The leaderboard and the tables of "
        "differences hold all models, the files of the comparison all pairs."
    )
