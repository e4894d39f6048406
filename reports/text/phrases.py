"""Phrases that the sentences are made of: numbers, lists of names, the size of a difference, the reason of a verdict."""

from concord.metrics_core.errors import in_words
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.metrics_core.results.limits import min_differing_for
from concord.metrics_core.results.words import MINUS, PERCENT, digits, exact, number, percent


def threshold(label: str, effect: float, comparison: Comparison) -> str:
    """The smallest difference that matters, as it was asked for: `0.005`, or `2 % of bm25`."""
    share = comparison.metric(label).share
    return exact(effect) if share is None else f"{percent(share)} of {comparison.baseline}"


def size(gap: Difference, label: str, comparison: Comparison) -> str:
    """`0.041 above popularity (95 % interval 0.035 to 0.047, +15.2 %)`."""
    if gap.difference is None:
        return f"not comparable with {gap.b}"
    places = digits(comparison.pairs_of(label))
    up = gap.difference >= 0
    side = "above" if up else "below"
    words = f"{number(abs(gap.difference), places)} {side} {gap.b}"
    if gap.difference == 0:
        words = f"level with {gap.b}"
    inside = [_interval(gap, up, places, comparison), _relative(gap.relative, up)]
    known = ", ".join(part for part in inside if part)
    return f"{words} ({known})" if known else words


def _interval(gap: Difference, up: bool, places: int, comparison: Comparison) -> str:
    """The interval of the difference as it is told: of what a is above b, or below."""
    if gap.ci_low is None or gap.ci_high is None:
        return ""
    low, high = (gap.ci_low, gap.ci_high) if up else (0.0 - gap.ci_high, 0.0 - gap.ci_low)
    percent = f"{100 * comparison.confidence:.12g}"
    return f"{percent}{PERCENT} interval {number(low, places)} to {number(high, places)}"


def _relative(share: float | None, up: bool) -> str:
    """Of what a is above b, or below, as the interval is."""
    if not share:
        return ""
    return (
        f"{100 * share:+.1f}{PERCENT}" if up else f"{-100 * share:.1f}{PERCENT}".replace("-", MINUS)
    )


def reason(gap: Difference, comparison: Comparison) -> str:
    """What the verdict on a against b rests on."""
    if gap.verdict == "undecided":
        return _undecided(gap, comparison)
    if gap.verdict == "too_few_users":
        return _too_few(gap, comparison)
    effect = gap.min_effect or 0.0  # None if it is a share of a mean that does not exist
    least = threshold(gap.label, effect, comparison)
    words = {
        "better": f"significant, and more than {least}" if effect else "significant",
        "better_below_threshold": f"significant, though perhaps less than {least}"
        if effect
        else "significant",
        "equivalent": f"too small to matter, as the interval lies within ±{least}",
        "better_without_interval": "significant, but without an interval: all users differ by the same",
        "identical": "every user has the same value with both",
        "no_interval": "not tested, as the mean is pooled over users",
        "not_comparable": "not comparable, as too many users have no list",
    }
    return words.get(gap.verdict, "the other way round on the users whom both have values for")


def _undecided(gap: Difference, comparison: Comparison) -> str:
    """Why an interval did not lead to a verdict."""
    low, high = gap.ci_low, gap.ci_high
    if low is not None and high is not None and low <= 0 <= high:
        return "not decided, as the interval includes 0"
    tests = sum(pair.p is not None for pair in comparison.primary_pairs)
    of_all = in_words(tests, "comparison")
    if gap.adjustment == "max_t":
        return f"not significant by joint sign flips of {of_all}"
    return f"not significant once corrected for {of_all}"


def _too_few(gap: Difference, comparison: Comparison) -> str:
    differing = gap.n_nonzero
    if not gap.n_users:
        return "no user has a value with both"
    have = "has" if differing == 1 else "have"
    tests = sum(pair.p is not None or pair is gap for pair in comparison.primary_pairs)
    multiplied = tests if gap.adjustment == "holm" else 1
    needed = min_differing_for((1 - comparison.confidence) / max(multiplied, 1))
    among = f" among {in_words(tests, 'comparison')}" if multiplied > 1 else ""
    only = f"only {in_words(differing, 'user')} {have} different values"
    return f"{only}; a significant result{among} needs at least {needed}"
