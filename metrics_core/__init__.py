"""Ranking metrics under named conventions: frames in, numbers out."""

from metrics_core.checking.problems import InputError
from metrics_core.compare import compare
from metrics_core.comparison.comparison import Comparison
from metrics_core.conventions.conventions import Conventions
from metrics_core.conventions.presets import preset, presets
from metrics_core.evaluate import Result, evaluate
from metrics_core.explain import Derivation, Versus, explain
from metrics_core.reconcile import Found, reconcile

__all__ = [
    "Comparison",
    "Conventions",
    "Derivation",
    "Found",
    "InputError",
    "Result",
    "Versus",
    "compare",
    "evaluate",
    "explain",
    "preset",
    "presets",
    "reconcile",
]


def __dir__() -> list[str]:
    return sorted(__all__)
