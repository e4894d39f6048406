"""Warnings on the evaluation itself: what makes its numbers doubtful, and what to do."""

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Warned

_NAMED = 4  # models of one warning
_SIGNS = {
    "sampled_candidates": "sampled candidates",
    "train_items_recommended": "items from the train in the lists",
    "future_items": "items from the future in the lists",
    "truth_in_train": "truth inside the train",
    "user_sets_differ": "models with other users",
    "ties_at_cutoff": "ties across the cutoff in lists that scores order",
}


def warnings(comparison: Comparison) -> list[Warned]:
    return list(comparison.warnings)


def who(warning: Warned) -> str:
    names = warning.who
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def no_signs(comparison: Comparison) -> str:
    """What was looked for and not found, where nothing was found; empty if nothing could be looked for."""
    checked = comparison.checked
    signs = [words for kind, words in _SIGNS.items() if kind in checked]
    return f"No sign of {', of '.join(signs)}." if signs else ""
