"""Recommender evaluation that is pinned, reproducible and explainable.

Each public name is imported when it is first used, so that the command line and the stages import what they need only.
"""

from importlib import import_module
from typing import Any

_ROOMS = {  # public name -> where in `concord.metrics_core` it stands
    "Audit": "auditing.parts",
    "Calibration": "calibrating.calibration",
    "Cases": "comparison.cases",
    "Comparison": "comparison.comparison",
    "Conventions": "conventions.conventions",
    "Derivation": "explain",
    "Found": "reconcile",
    "InputError": "checking.problems",
    "Judged": "metrics.judged",
    "Plan": "planning.parts",
    "Property": "check_metric",
    "Result": "evaluate",
    "Split": "split",
    "Spread": "statistics.power",
    "Study": "studying.study",
    "Versus": "explain",
    "audit": "audit",
    "calibrate": "calibrate",
    "check_metric": "check_metric",
    "cases": "cases.cases",
    "compare": "compare",
    "evaluate": "evaluate",
    "explain": "explain",
    "metric": "metrics.own",
    "plan": "plan",
    "preset": "conventions.presets",
    "presets": "conventions.presets",
    "reconcile": "reconcile",
    "split": "split",
    "study": "study",
}
__all__ = sorted(_ROOMS)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("concord-eval")
    if name not in _ROOMS:
        msg = f"module 'concord' has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(import_module(f"concord.metrics_core.{_ROOMS[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
