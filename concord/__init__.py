"""Recommender and search evaluation that is pinned, reproducible and explainable.

Each public name is imported when it is first used, so that a program loads only what it needs.
Types of results are in `concord.results`, those of metrics in `concord.metrics`; splits of
interactions in `concord.data`; judgements of search in `concord.search`.
"""

from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

_MODULES = {  # public name -> its module in `concord.metrics_core`
    "InputError": "errors",
    "Model": "data.model",
    "Options": "comparison.options",
    "audit": "analyses.audit.audit",
    "cases": "analyses.cases.cases",
    "compare": "comparison.compare",
    "compare_values": "comparison.compare_values",
    "evaluate": "evaluation.evaluate",
    "explain": "analyses.explain.explain",
    "load": "decision.load",
    "metric": "metrics.custom_metric",
    "plan": "analyses.plan.plan",
    "preset": "results.presets",
    "presets": "results.presets",
    "reconcile": "analyses.reconcile.reconcile",
    "study": "analyses.study.study",
    "verify": "analyses.verify.verify",
}
__all__ = sorted([*_MODULES, "datasets"])
_NAMESPACES = ("data", "datasets", "metrics", "results", "search")

if TYPE_CHECKING:  # the same names for type checkers and editors; a test compares both
    from concord import data as data
    from concord import datasets as datasets
    from concord import metrics as metrics
    from concord import results as results
    from concord import search as search
    from concord.metrics_core.analyses.audit.audit import audit as audit
    from concord.metrics_core.analyses.cases.cases import cases as cases
    from concord.metrics_core.analyses.explain.explain import explain as explain
    from concord.metrics_core.analyses.plan.plan import plan as plan
    from concord.metrics_core.analyses.reconcile.reconcile import reconcile as reconcile
    from concord.metrics_core.analyses.study.study import study as study
    from concord.metrics_core.analyses.verify.verify import verify as verify
    from concord.metrics_core.comparison.compare import compare as compare
    from concord.metrics_core.comparison.compare_values import compare_values as compare_values
    from concord.metrics_core.comparison.options import Options as Options
    from concord.metrics_core.data.model import Model as Model
    from concord.metrics_core.decision.load import load as load
    from concord.metrics_core.errors import InputError as InputError
    from concord.metrics_core.evaluation.evaluate import evaluate as evaluate
    from concord.metrics_core.metrics.custom_metric import metric as metric
    from concord.metrics_core.results.presets import preset as preset
    from concord.metrics_core.results.presets import presets as presets

    __version__: str
else:

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("concord-eval")
        if name in _NAMESPACES:
            return import_module(f"concord.{name}")
        if name not in _MODULES:
            from concord.metrics_core.deprecation import replacement

            if new := replacement(f"concord.{name}"):
                return attrgetter(new)(import_module(__name__))
            _refuse_moved(name)
            msg = f"module 'concord' has no attribute {name!r}"
            raise AttributeError(msg)
        from concord.public import publish

        module = import_module(f"concord.metrics_core.{_MODULES[name]}")
        globals()[name] = getattr(module, name)
        publish(__name__, [name], globals())
        return globals()[name]

    def _refuse_moved(name: str) -> None:
        """Raise an ImportError that names the new place of a public name, if it has moved.

        `from concord import name` would replace the message of an AttributeError.
        """
        if name.startswith("_"):
            return
        for namespace in _NAMESPACES:
            if name in import_module(f"concord.{namespace}").__all__:
                msg = f"concord.{name} is now concord.{namespace}.{name}"
                raise ImportError(msg)


def __dir__() -> list[str]:
    return __all__
