"""Metrics of your own: what a function of `concord.metric` receives, and checks of it."""

from concord.metrics_core.analyses.check_metric.check_metric import check_metric
from concord.metrics_core.analyses.check_metric.result import MetricCheck, PropertyCheck
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.judged import Judged
from concord.public import publish

__all__ = ["Conventions", "Judged", "MetricCheck", "PropertyCheck", "check_metric"]
publish(__name__, __all__, globals())
