"""How probable it is that a model is the best, by resampling users: what intervals of pairs do not tell."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from concord.metrics_core.comparing.evidence.aligned import Aligned
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparison.parts import BestChance, or_none
from concord.metrics_core.metrics.catalogue import Label, is_pooled
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.statistics.bootstrap import best_probability, weighted_means


def best_chances(evidence: Evidence) -> Iterator[BestChance]:
    """One a primary label and model, over the users whom all models have; models of equal mean share a resample.

    Models that are not compared, as they lack the lists of most users, have no probability, unless all do.
    """
    asked, aligned = evidence.asked, evidence.aligned
    models = evidence.compared
    for label in asked.of_primary:
        if is_pooled(label, asked.conventions):
            continue
        columns = _columns(aligned, models, label, label.conventions(asked.conventions).undefined)
        columns[np.isnan(columns).any(axis=1)] = np.nan  # else a model could lead by easy users
        if (clusters := aligned.whose(label, asked.conventions)) is not None:
            columns = np.column_stack([clusters.scores(column) for column in columns.T])
        means = weighted_means(columns, resamples=asked.resamples, seed=asked.seed)
        shares = best_probability(means, higher_is_better=label.metric.higher_is_better)
        known = dict(zip(models, shares.tolist(), strict=True))
        for model in aligned.tables:
            yield BestChance(
                str(label), model, or_none(known.get(model, math.nan)), asked.resamples
            )


def _columns(aligned: Aligned, models: Sequence[str], label: Label, undefined: str) -> Floats:
    """(users, models), one model after the other: they are not held twice."""
    columns = np.empty((len(aligned.users), len(models)))
    for place, model in enumerate(models):
        columns[:, place] = aligned.column(model, str(label), undefined)
    return columns
