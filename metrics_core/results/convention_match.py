"""A definition of a metric that may have given a published number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from concord.metrics_core.results.comparison_parts import value_text


@dataclass(frozen=True)
class ConventionMatch:
    """A definition of a metric and the mean that it gives.

    Attributes
    ----------
    presets : tuple of str
        Presets that define the metric so; may be empty.
    changes : dict
        Conventions that differ from the requested ones.
    matches : bool
        True if the mean is printed as the number.
    is_cut : bool
        True if the further digits of the mean were cut off, not rounded.
    presets_with_null : tuple of str
        Presets that define the metric so if `relevance_threshold` is null.

    Examples
    --------
    >>> import concord as cc
    >>> lists, truth = {"u1": ["a", "b"]}, {"u1": ["b"]}
    >>> match = cc.reconcile(lists, truth, value="0.5", metric="P@2").matches[0]
    >>> match.mean, match.matches
    (0.5, True)
    """

    mean: float
    presets: tuple[str, ...]
    changes: Mapping[str, Any]
    matches: bool
    is_cut: bool
    presets_with_null: tuple[str, ...] = ()

    @property
    def change_texts(self) -> list[str]:
        """Changes as text, such as `gain: binary`."""
        return [f"{name}: {value_text(value)}" for name, value in self.changes.items()]
