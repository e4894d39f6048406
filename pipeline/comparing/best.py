"""How probable it is that a model is the best, by resampling users: what intervals of pairs do not tell."""

from typing import Any

import numpy as np

from metrics_core.metrics.catalogue import is_pooled
from metrics_core.statistics.bootstrap import best_probability, weighted_means
from pipeline.comparing.aligned import Aligned
from pipeline.comparing.choices import Choices
from pipeline.comparing.differences import or_null
from pipeline.params.model import Params

Row = dict[str, Any]


def best_rows(params: Params, choices: Choices, aligned: Aligned) -> list[Row]:
    """One row a primary label and model, over the users whom all models have; models of equal mean share a resample."""
    rows: list[Row] = []
    comparison = params.comparison
    for label in choices.of_primary:
        if is_pooled(label, params.pinned):
            continue
        values = aligned.values(str(label), label.conventions(params.pinned).undefined)
        columns = np.column_stack(list(values.values()))
        columns[np.isnan(columns).any(axis=1)] = np.nan  # else a model could lead by easy users
        means = weighted_means(
            columns,
            resamples=comparison.resamples,
            seed=comparison.seed,
        )
        shares = best_probability(means, higher_is_better=label.metric.higher_is_better)
        rows += [
            {
                "label": str(label),
                "model": model,
                "probability": or_null(float(share)),
                "resamples": comparison.resamples,
            }
            for model, share in zip(values, shares, strict=True)
        ]
    return rows
