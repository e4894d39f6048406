"""Which means lead, as far as tests show it, and letters of the models that each one beats."""

from collections.abc import Iterable, Mapping
from string import ascii_lowercase
from typing import Literal

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference

Mark = Literal["best", "level", "close"]
MEANINGS: Mapping[Mark, str] = {
    "best": "significantly better than every other mean",
    "level": "equivalent to the leading mean: any difference is too small to matter",
    "close": "not significantly different from the leading mean",
}
_SIGNIFICANTLY_BETTER = {"better", "better_below_threshold", "better_without_interval"}
_EQUIVALENT = {"equivalent", "identical"}
_NOT_SIGNIFICANT = {"undecided", "too_few_users"}


def marks(comparison: Comparison, label: str) -> dict[str, Mark]:
    """Return model -> mark, for the models that lead on a label.

    One model is marked `best` if its mean is significantly better than each of the others.
    Otherwise the models that no test separates from the best mean are marked, and so is the best
    mean itself. A best mean whose lead was not tested has no mark; nor has a model without a mean.
    """
    leaders = comparison.leaders(label)
    if not leaders:
        return {}
    leader, *_ = leaders
    verdicts = {
        model: pair.verdict if (pair := comparison.difference(leader, model, label)) else None
        for model in comparison.models
        if model != leader and comparison.score(model, label).mean is not None
    }
    tied: dict[str, Mark] = {
        model: "level" if verdict in _EQUIVALENT else "close"
        for model, verdict in verdicts.items()
        if verdict in _EQUIVALENT | _NOT_SIGNIFICANT
    }
    if tied:
        return {leader: "close" if "close" in tied.values() else "level", **tied}
    is_best = bool(verdicts) and set(verdicts.values()) <= _SIGNIFICANTLY_BETTER
    return {leader: "best"} if is_best else {}


def legend(comparison: Comparison, labels: Iterable[str]) -> dict[Mark, str]:
    """Return mark -> meaning, of the marks that these labels have."""
    used = {mark for label in labels for mark in marks(comparison, label).values()}
    return {mark: meaning for mark, meaning in MEANINGS.items() if mark in used}


def fails_adjusted_only(pair: Difference) -> bool:
    """True if the interval excludes 0, but the adjusted p-value is not significant."""
    low, high = pair.ci_low, pair.ci_high
    excludes_zero = low is not None and high is not None and not low <= 0 <= high
    return pair.verdict == "undecided" and excludes_zero


def letters(comparison: Comparison) -> dict[str, str]:
    """Return model -> letter, in the order of the leaderboard."""
    return dict(zip(comparison.ranked, ascii_lowercase, strict=False))


def beats(comparison: Comparison, model: str, other: str, label: str) -> bool:
    """True if a model is significantly better than another one on a label."""
    pair = comparison.difference(model, other, label)
    return pair is not None and pair.verdict in _SIGNIFICANTLY_BETTER
