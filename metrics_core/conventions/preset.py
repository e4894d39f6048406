"""Preset: a named set of conventions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A named set of conventions.

    Attributes
    ----------
    sentence : str
        The text or library that it stands for.
    differs : Mapping[str, Any]
        Conventions that differ from `standard`.
    metrics : str
        Names of the metrics that it defines, separated by spaces; empty for all.
    package : str
        Library and version that a parity test runs; empty if there is none.
    """

    sentence: str
    differs: Mapping[str, Any]
    metrics: str = ""
    package: str = ""
