"""Paired statistics: every pair of models on the same users, with one verdict each."""

from collections.abc import Sequence
from itertools import combinations

from concord.metrics_core.comparison.parts import Verdict
from concord.metrics_core.statistics.adjust import adjust, benjamini_hochberg, holm
from concord.metrics_core.statistics.paired import Paired, compare
from concord.metrics_core.statistics.verdict import verdict

__all__ = [
    "Paired",
    "Verdict",
    "adjust",
    "benjamini_hochberg",
    "compare",
    "holm",
    "pairs",
    "verdict",
]


def pairs(models: Sequence[str], baseline: str) -> list[tuple[str, str]]:
    """Every model against the baseline, then every other pair, in the order given."""
    others = [model for model in models if model != baseline]
    return [(model, baseline) for model in others] + list(combinations(others, 2))
