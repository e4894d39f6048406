"""Ranking metrics under named conventions: frames in, numbers out."""

from metrics_core.conventions import Conventions
from metrics_core.evaluate import Result, evaluate
from metrics_core.explain import Derivation, explain
from metrics_core.presets import preset, presets

__all__ = [
    "Conventions",
    "Derivation",
    "Result",
    "evaluate",
    "explain",
    "preset",
    "presets",
]
