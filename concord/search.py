"""Judgements of search: what to judge next, and estimates from few labels of people."""

from concord.metrics_core.analyses.judge.judge import judge
from concord.metrics_core.analyses.ppi.ppi import ppi
from concord.public import publish

__all__ = ["judge", "ppi"]
publish(__name__, __all__, globals())
