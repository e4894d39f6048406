"""Preparation of data: splits of interactions, and pairs that are left out of both sides."""

from concord.metrics_core.analyses.split.split import split
from concord.metrics_core.conventions.data_conventions import ExcludedPairs
from concord.metrics_core.data.arguments import excluded_pairs
from concord.public import publish

__all__ = ["ExcludedPairs", "excluded_pairs", "split"]
publish(__name__, __all__, globals())
