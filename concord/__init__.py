"""Recommender evaluation that is pinned, reproducible and explainable.

Each public name is imported when it is first used, so that a program loads only what it needs.
"""

import os
from functools import wraps
from importlib import import_module
from traceback import walk_tb
from types import FunctionType
from typing import TYPE_CHECKING, Any

_MODULES = {  # public name -> its module in `concord.metrics_core`
    "Audit": "results.audit",
    "Cases": "results.error_analysis",
    "Comparison": "results.comparison",
    "ConventionMatch": "results.reconcile",
    "Conventions": "conventions.conventions",
    "Derivation": "results.explain",
    "Evaluation": "results.evaluation",
    "ExcludedPairs": "conventions.data_conventions",
    "Explanation": "results.verify",
    "ExplanationDiff": "results.explain",
    "InputError": "errors",
    "Judged": "metrics.judged",
    "Judging": "results.judge",
    "Plan": "results.plan",
    "PublishedMean": "results.verify",
    "MetricCheck": "results.check_metric",
    "PresetConventions": "results.presets",
    "PresetList": "results.presets",
    "PredictionPowered": "results.ppi",
    "PropertyCheck": "results.check_metric",
    "Reconciliation": "results.reconcile",
    "Split": "results.split",
    "Study": "results.study",
    "VarianceComponents": "results.plan",
    "Verification": "results.verify",
    "audit": "analyses.audit",
    "check_metric": "analyses.check_metric",
    "cases": "analyses.error_analysis",
    "compare": "comparison.compare",
    "compare_values": "comparison.compare_values",
    "evaluate": "evaluation.evaluate",
    "excluded_pairs": "data.excluded_pairs",
    "explain": "analyses.explain",
    "judge": "analyses.judge",
    "metric": "metrics.custom_metric",
    "plan": "analyses.plan",
    "ppi": "analyses.ppi",
    "preset": "results.presets",
    "presets": "results.presets",
    "reconcile": "analyses.reconcile",
    "split": "analyses.split",
    "study": "analyses.study",
    "verify": "analyses.verify",
}
__all__ = sorted([*_MODULES, "datasets"])

if TYPE_CHECKING:  # the same names for type checkers and editors; a test compares both
    from concord import datasets as datasets
    from concord.metrics_core.analyses.audit import audit as audit
    from concord.metrics_core.analyses.check_metric import check_metric as check_metric
    from concord.metrics_core.analyses.error_analysis import cases as cases
    from concord.metrics_core.analyses.explain import explain as explain
    from concord.metrics_core.analyses.judge import judge as judge
    from concord.metrics_core.analyses.plan import plan as plan
    from concord.metrics_core.analyses.ppi import ppi as ppi
    from concord.metrics_core.analyses.reconcile import reconcile as reconcile
    from concord.metrics_core.analyses.split import split as split
    from concord.metrics_core.analyses.study import study as study
    from concord.metrics_core.analyses.verify import verify as verify
    from concord.metrics_core.comparison.compare import compare as compare
    from concord.metrics_core.comparison.compare_values import compare_values as compare_values
    from concord.metrics_core.conventions.conventions import Conventions as Conventions
    from concord.metrics_core.conventions.data_conventions import ExcludedPairs as ExcludedPairs
    from concord.metrics_core.data.excluded_pairs import excluded_pairs as excluded_pairs
    from concord.metrics_core.errors import InputError as InputError
    from concord.metrics_core.evaluation.evaluate import evaluate as evaluate
    from concord.metrics_core.metrics.custom_metric import metric as metric
    from concord.metrics_core.metrics.judged import Judged as Judged
    from concord.metrics_core.results.audit import Audit as Audit
    from concord.metrics_core.results.check_metric import MetricCheck as MetricCheck
    from concord.metrics_core.results.check_metric import PropertyCheck as PropertyCheck
    from concord.metrics_core.results.comparison import Comparison as Comparison
    from concord.metrics_core.results.error_analysis import Cases as Cases
    from concord.metrics_core.results.evaluation import Evaluation as Evaluation
    from concord.metrics_core.results.explain import Derivation as Derivation
    from concord.metrics_core.results.explain import ExplanationDiff as ExplanationDiff
    from concord.metrics_core.results.judge import Judging as Judging
    from concord.metrics_core.results.plan import Plan as Plan
    from concord.metrics_core.results.plan import VarianceComponents as VarianceComponents
    from concord.metrics_core.results.ppi import PredictionPowered as PredictionPowered
    from concord.metrics_core.results.presets import PresetConventions as PresetConventions
    from concord.metrics_core.results.presets import PresetList as PresetList
    from concord.metrics_core.results.presets import preset as preset
    from concord.metrics_core.results.presets import presets as presets
    from concord.metrics_core.results.reconcile import ConventionMatch as ConventionMatch
    from concord.metrics_core.results.reconcile import Reconciliation as Reconciliation
    from concord.metrics_core.results.split import Split as Split
    from concord.metrics_core.results.study import Study as Study
    from concord.metrics_core.results.verify import Explanation as Explanation
    from concord.metrics_core.results.verify import PublishedMean as PublishedMean
    from concord.metrics_core.results.verify import Verification as Verification

    __version__: str
else:

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("concord-eval")
        if name == "datasets":
            return import_module("concord.datasets")
        if name not in _MODULES:
            msg = f"module 'concord' has no attribute {name!r}"
            raise AttributeError(msg)
        value = getattr(import_module(f"concord.metrics_core.{_MODULES[name]}"), name)
        if isinstance(value, FunctionType):
            value = _with_short_traceback(value)
        else:
            value.__module__ = __name__  # what help() and error messages show
        globals()[name] = value
        return value

    def _with_short_traceback(function: Any) -> Any:
        """Return the function; its traceback ends at the call unless `CONCORD_DEBUG` is set.

        This applies to errors whose message is enough: a ValueError that Concord raises, or a
        wrong signature. Other errors keep their traceback.
        """

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return function(*arguments, **options)
            except (ValueError, TypeError) as error:
                frames = [frame for frame, _ in walk_tb(error.__traceback__)]
                origin = frames[-1].f_globals.get("__name__", "")
                is_argument_error = len(frames) == 1 or (
                    isinstance(error, ValueError) and origin.startswith(f"{__name__}.")
                )
                if is_argument_error and not os.environ.get("CONCORD_DEBUG"):
                    error.__traceback__ = None
                    error.__suppress_context__ = True
                raise  # a bare `raise` adds no frame of this function

        call.__module__ = __name__  # where pickle finds it
        return call


def __dir__() -> list[str]:
    return __all__
