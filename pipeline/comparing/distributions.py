"""How users' differences are spread: percentiles of those that are not 0, each primary label against the baseline."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.comparing.aligned import Aligned, Floats
from pipeline.comparing.choices import Choices
from pipeline.params.model import Params

Row = dict[str, Any]
PERCENTILES = np.arange(101)


def distribution_rows(params: Params, choices: Choices, aligned: Aligned) -> list[Row]:
    """One row a primary label and challenger."""
    rows = []
    for label in choices.of_primary:
        values = aligned.values(str(label), label.conventions(params.pinned).undefined)
        rows += _of_label(str(label), values, params.comparison.baseline)
    return rows


def _of_label(label: str, values: Mapping[str, Floats], baseline: str) -> list[Row]:
    return [
        _row(label, model, baseline, values[model] - values[baseline])
        for model in values
        if model != baseline
    ]


def _row(label: str, a: str, b: str, gaps: Floats) -> Row:
    gaps = gaps[~np.isnan(gaps)]
    differing = gaps[gaps != 0]
    return {
        "label": label,
        "a": a,
        "b": b,
        "n_users": len(gaps),
        "n_zero": len(gaps) - len(differing),
        "quantiles": _percentiles(differing),
    }


def _percentiles(gaps: Floats) -> list[float]:
    """Values that occur, so that no machine's rounding enters; nothing where nobody differs."""
    if not len(gaps):
        return []
    found: list[float] = np.percentile(gaps, PERCENTILES, method="inverted_cdf").tolist()
    return found
