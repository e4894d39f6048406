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
    "Audit": "analyses.audit.result",
    "Cases": "analyses.cases.result",
    "Comparison": "results.comparison",
    "ConventionMatch": "evaluation.definition_search",
    "Conventions": "conventions.conventions",
    "Derivation": "analyses.explain.result",
    "Evaluation": "results.evaluation",
    "ExcludedPairs": "conventions.data_conventions",
    "Explanation": "analyses.verify.result",
    "ExplanationDiff": "analyses.explain.result",
    "InputError": "errors",
    "Judged": "metrics.judged",
    "Judging": "analyses.judge.result",
    "Plan": "analyses.plan.result",
    "PublishedMean": "analyses.verify.result",
    "Model": "data.model",
    "MetricCheck": "analyses.check_metric.result",
    "PresetConventions": "results.presets",
    "PresetList": "results.presets",
    "PredictionPowered": "analyses.ppi.result",
    "PropertyCheck": "analyses.check_metric.result",
    "Reconciliation": "analyses.reconcile.result",
    "Split": "analyses.split.result",
    "Study": "analyses.study.result",
    "VarianceComponents": "stats.power",
    "Verification": "analyses.verify.result",
    "audit": "analyses.audit.audit",
    "check_metric": "analyses.check_metric.check_metric",
    "cases": "analyses.cases.cases",
    "compare": "comparison.compare",
    "compare_values": "comparison.compare_values",
    "evaluate": "evaluation.evaluate",
    "excluded_pairs": "data.arguments",
    "explain": "analyses.explain.explain",
    "judge": "analyses.judge.judge",
    "metric": "metrics.custom_metric",
    "plan": "analyses.plan.plan",
    "ppi": "analyses.ppi.ppi",
    "preset": "results.presets",
    "presets": "results.presets",
    "reconcile": "analyses.reconcile.reconcile",
    "split": "analyses.split.split",
    "study": "analyses.study.study",
    "verify": "analyses.verify.verify",
}
__all__ = sorted([*_MODULES, "datasets"])

if TYPE_CHECKING:  # the same names for type checkers and editors; a test compares both
    from concord import datasets as datasets
    from concord.metrics_core.analyses.audit.audit import audit as audit
    from concord.metrics_core.analyses.audit.result import Audit as Audit
    from concord.metrics_core.analyses.cases.cases import cases as cases
    from concord.metrics_core.analyses.cases.result import Cases as Cases
    from concord.metrics_core.analyses.check_metric.check_metric import check_metric as check_metric
    from concord.metrics_core.analyses.check_metric.result import MetricCheck as MetricCheck
    from concord.metrics_core.analyses.check_metric.result import PropertyCheck as PropertyCheck
    from concord.metrics_core.analyses.explain.explain import explain as explain
    from concord.metrics_core.analyses.explain.result import Derivation as Derivation
    from concord.metrics_core.analyses.explain.result import ExplanationDiff as ExplanationDiff
    from concord.metrics_core.analyses.judge.judge import judge as judge
    from concord.metrics_core.analyses.judge.result import Judging as Judging
    from concord.metrics_core.analyses.plan.plan import plan as plan
    from concord.metrics_core.analyses.plan.result import Plan as Plan
    from concord.metrics_core.analyses.ppi.ppi import ppi as ppi
    from concord.metrics_core.analyses.ppi.result import PredictionPowered as PredictionPowered
    from concord.metrics_core.analyses.reconcile.reconcile import reconcile as reconcile
    from concord.metrics_core.analyses.reconcile.result import Reconciliation as Reconciliation
    from concord.metrics_core.analyses.split.result import Split as Split
    from concord.metrics_core.analyses.split.split import split as split
    from concord.metrics_core.analyses.study.result import Study as Study
    from concord.metrics_core.analyses.study.study import study as study
    from concord.metrics_core.analyses.verify.result import Explanation as Explanation
    from concord.metrics_core.analyses.verify.result import PublishedMean as PublishedMean
    from concord.metrics_core.analyses.verify.result import Verification as Verification
    from concord.metrics_core.analyses.verify.verify import verify as verify
    from concord.metrics_core.comparison.compare import compare as compare
    from concord.metrics_core.comparison.compare_values import compare_values as compare_values
    from concord.metrics_core.conventions.conventions import Conventions as Conventions
    from concord.metrics_core.conventions.data_conventions import ExcludedPairs as ExcludedPairs
    from concord.metrics_core.data.arguments import excluded_pairs as excluded_pairs
    from concord.metrics_core.data.model import Model as Model
    from concord.metrics_core.errors import InputError as InputError
    from concord.metrics_core.evaluation.definition_search import ConventionMatch as ConventionMatch
    from concord.metrics_core.evaluation.evaluate import evaluate as evaluate
    from concord.metrics_core.metrics.custom_metric import metric as metric
    from concord.metrics_core.metrics.judged import Judged as Judged
    from concord.metrics_core.results.comparison import Comparison as Comparison
    from concord.metrics_core.results.evaluation import Evaluation as Evaluation
    from concord.metrics_core.results.presets import PresetConventions as PresetConventions
    from concord.metrics_core.results.presets import PresetList as PresetList
    from concord.metrics_core.results.presets import preset as preset
    from concord.metrics_core.results.presets import presets as presets
    from concord.metrics_core.stats.power import VarianceComponents as VarianceComponents

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

    _EXAMPLES = {  # of arguments that may be missing
        "metrics": 'metrics=["nDCG@10", "R@20"]',
        "metric": 'metric="nDCG@10"',
        "user": 'user="u1"',
    }

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
                examples = [text for name, text in _EXAMPLES.items() if repr(name) in str(error)]
                if len(frames) == 1 and "missing" in str(error) and examples:
                    error.args = (f"{error}\n  fix: add {', '.join(examples)}",)
                if is_argument_error and not os.environ.get("CONCORD_DEBUG"):
                    error.__traceback__ = None
                    error.__suppress_context__ = True
                raise  # a bare `raise` adds no frame of this function

        call.__module__ = __name__  # where pickle finds it
        return call


def __dir__() -> list[str]:
    return __all__
