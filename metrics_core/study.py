"""`study`: comparisons of the same models on several data sets in, a Study out."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.comparing.evidence.asked import Effect, absolute, wrong_effect
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.words import listed
from concord.metrics_core.studying.aggregating import aggregations
from concord.metrics_core.studying.agreed import (
    Comparisons,
    chosen_baseline,
    chosen_labels,
    chosen_models,
    refuse_unlike,
    same_truth,
    scales,
)
from concord.metrics_core.studying.over_datasets import ahead, omnibus, pairs_of
from concord.metrics_core.studying.parts import Dataset, LeftOut
from concord.metrics_core.studying.study import Study
from concord.metrics_core.studying.table import cells_of
from concord.metrics_core.studying.words import answer_of


def study(
    comparisons: Mapping[str, Comparison],
    *,
    primary: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    baseline: str | None = None,
    min_effect: Effect = 0.0,
    title: str = "Study",
    sources: Mapping[str, str] | None = None,
) -> Study:
    """The same models on several data sets: who wins, under how many ways of aggregating, and is it sure.

    Parameters
    ----------
    comparisons : data set -> what `compare` returned, or `results/comparison/comparison.json` holds
    primary     : the labels to study; else those that are primary in all, in the first one's order
    models      : else those that all data sets have
    baseline    : else the one that all data sets have
    min_effect  : the smallest difference that matters: a number, or a share of the baseline's mean such as "2%"
    sources     : data set -> where it comes from, to be shown

    Raises
    ------
    InputError : conventions differ (each knob is named), or a label, model or baseline is missing somewhere
    """
    checked = _checked(comparisons, primary, models)
    refuse_unlike(checked)
    if why := wrong_effect(min_effect):
        raise refuse("min_effect", why, "write 0.005 or '2%'")
    labels = chosen_labels(checked, primary)
    chosen, left_out = chosen_models(checked, models)
    against = chosen_baseline(checked, chosen, baseline)
    first = next(iter(checked.values()))
    effects = {label: _effect(min_effect, label, checked, against) for label in labels}
    parts = [_of_label(label, checked, chosen, against, effects[label]) for label in labels]
    together = {
        name: tuple(row for part in parts for row in part[name])
        for name in ("answers", "cells", "ways", "pairs", "shrunk", "omnibus")
    }
    return Study(
        title=title,
        baseline=against,
        primary=labels,
        confidence=first.confidence,
        models=chosen,
        datasets=tuple(_dataset(name, c, sources or {}) for name, c in checked.items()),
        left_out=left_out,
        metrics=tuple(first.metric(label) for label in labels),
        min_effect=effects,
        notes=(
            *_left_out(left_out),
            *_repeated(checked),
            *_trained(checked, chosen),
            *scales(checked, labels),
        ),
        conventions=first.conventions,
        **together,
    )


def _checked(comparisons: Any, *lists: Any) -> Comparisons:
    if not isinstance(comparisons, Mapping) or not all(
        isinstance(name, str) and isinstance(each, Comparison) for name, each in comparisons.items()
    ):
        raise refuse("comparisons", "is no dict of comparisons", "write {'movielens': concord.compare(…), …}")  # fmt: skip
    for given in lists:
        if isinstance(given, str):
            raise refuse("study", f"{given!r} is one text where a list is asked for", f"write [{given!r}]")  # fmt: skip
        texts = isinstance(given, Sequence) and all(isinstance(text, str) for text in given)
        if given is not None and not texts:
            raise refuse("study", f"{given!r} is no list of texts", "write ['nDCG@10'], or ['als', 'ease']")  # fmt: skip
    return comparisons


def _of_label(
    label: str, comparisons: Comparisons, models: Sequence[str], baseline: str, effect: float
) -> dict[str, list[Any]]:
    first = next(iter(comparisons.values()))
    cells = cells_of(label, comparisons, models, baseline)
    up = first.metric(label).higher_is_better
    ways = aggregations(label, cells, higher_is_better=up)
    pairs, shrunk = pairs_of(label, comparisons, models, baseline=baseline, min_effect=effect)
    above = ahead(pairs, higher_is_better=up, alpha=1 - first.confidence)
    return {
        "answers": [answer_of(label, ways, above, len(comparisons), same_truth(comparisons))],
        "cells": cells,
        "ways": ways,
        "pairs": pairs,
        "shrunk": shrunk,
        "omnibus": [omnibus(label, cells, first.confidence)],
    }


def _effect(effect: Effect, label: str, comparisons: Comparisons, baseline: str) -> float:
    means = [comparison.score(baseline, label).mean for comparison in comparisons.values()]
    known = [mean for mean in means if mean is not None]
    return absolute(effect, math.fsum(known) / len(known) if known else 0.0)


def _dataset(name: str, comparison: Comparison, sources: Mapping[str, str]) -> Dataset:
    users = max((score.n_users for score in comparison.scores), default=0)
    fingerprint = comparison.conventions.fingerprint
    return Dataset(
        name, sources.get(name, ""), comparison.title, comparison.baseline, users, fingerprint
    )


def _left_out(models: Sequence[LeftOut]) -> list[str]:
    return [f"{each.model} is left out: it is not in {listed(each.missing_in)}." for each in models]


def _repeated(comparisons: Comparisons) -> list[str]:
    return [
        f"{listed(names)} are scored on the same truth: intervals, tests and wins over data sets count it {len(names)} times."
        for names in same_truth(comparisons)
    ]


def _trained(comparisons: Comparisons, models: Sequence[str]) -> list[str]:
    """Of models with replicates, what the intervals do not cover."""
    found = [each.replicates.models for each in comparisons.values() if each.replicates]
    trained = [model for model in models if any(model in each for each in found)]
    if not trained:
        return []
    return [
        f"Intervals and tests take {listed(trained)} as trained: they are over users and data sets, and what training again would change is in the report of each data set."
    ]
