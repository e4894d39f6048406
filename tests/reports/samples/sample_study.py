"""A study over nine data sets: two models are far above the baseline, and which of the two leads changes."""

from functools import cache

import concord
from tests.metrics_core.analyses.study_data import comparison_of

LABEL = "nDCG@10"
MEANS = {"base": 0.20, "a": 0.30, "c": 0.31}


@cache
def study() -> concord.Study:
    """Return the study; a and c are above base on every data set."""
    changed = {"base": 0.20, "a": 0.31, "c": 0.30}
    return concord.study({f"d{i}": comparison_of(changed if i % 2 else MEANS, i) for i in range(9)})
