"""The labels that were evaluated, and the mean of each model on each of them."""

from collections.abc import Iterator, Mapping, Sequence

from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparison.parts import Difference, Metric, Score
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.scoring.numerics.tolerance import difference

_NOT_TESTED = {"no_interval", "not_comparable"}


def metrics_of(asked: Asked) -> Iterator[Metric]:
    """What the reader must know of every label, in report order."""
    for label in asked.labels:
        yield Metric(
            label=str(label),
            name=label.name,
            stem=label.stem,
            k=label.k,
            higher_is_better=label.metric.higher_is_better,
            primary=str(label) in asked.primary,
            min_effect=str(asked.min_effects[str(label)]),
            family=label.metric.family,
            formula=label.metric.formula,
            source=label.metric.source,
        )


def scores(evidence: Evidence, differences: Sequence[Difference]) -> Iterator[Score]:
    """One a label and model, from the summaries; models with the best mean share `best`.

    A model that lacks the lists of most users is none of the best, unless all do.
    """
    asked, models = evidence.asked, evidence.models
    tests = {(pair.label, frozenset((pair.a, pair.b))): pair for pair in differences}
    for label in asked.labels:
        text = str(label)
        best = _best(label, {model: models[model].mean(text) for model in evidence.compared})
        is_primary = text in asked.primary  # every pair was compared
        for model, evaluated in models.items():
            others = [one for one in best if one != model] if is_primary else []
            against = [tests[text, frozenset((model, one))] for one in others]
            close = model in best or _none_is_better(label, model, against, asked.alpha)
            yield Score(
                model=model,
                label=text,
                **evaluated.summary["metrics"][text],
                best=model in best,
                indistinguishable_from_best=close if is_primary else None,
            )


def _best(label: Label, means: Mapping[str, float | None]) -> list[str]:
    known = {model: mean for model, mean in means.items() if mean is not None}
    if not known:
        return []
    value = (max if label.metric.higher_is_better else min)(known.values())
    return [model for model, mean in known.items() if difference(mean, value) == 0]


def _none_is_better(
    label: Label, model: str, against_best: Sequence[Difference], alpha: float
) -> bool | None:
    """Is there one of the best that is not significantly better? None where nothing can be tested.

    Significantly worse it can be, too: means are over each model's users, a test is over those whom both have.
    """
    if not against_best or any(pair.verdict in _NOT_TESTED for pair in against_best):
        return None
    if any(pair.difference is None for pair in against_best):
        return None
    return any(
        pair.p_adjusted is None or pair.p_adjusted >= alpha or _ahead(label, model, pair)
        for pair in against_best
    )


def _ahead(label: Label, model: str, pair: Difference) -> bool:
    gained = (pair if pair.a == model else pair.mirrored()).difference
    return gained is not None and (gained > 0 if label.metric.higher_is_better else gained < 0)
