"""A study of nine data sets: a and c are far above the baseline, and take turns in the lead."""

from functools import cache

import concord
from tests.metrics_core.analyses.study.study_data import comparison_of

LABEL = "nDCG@10"
MEANS = {"base": 0.20, "a": 0.30, "c": 0.31}


@cache
def study() -> concord.results.Study:
    """Return the study."""
    swapped = {"base": 0.20, "a": 0.31, "c": 0.30}
    return concord.study({f"d{i}": comparison_of(swapped if i % 2 else MEANS, i) for i in range(9)})
