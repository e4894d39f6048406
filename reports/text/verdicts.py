"""The verdicts of a comparison in plain sentences, most important first."""

from collections.abc import Iterator

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.metrics_core.results.limits import MIN_T_TEST_USERS, min_differing_for
from concord.metrics_core.results.replicates import ReplicatedDifference
from concord.metrics_core.results.text_format import join_names
from concord.reports.text.answer import (
    answer,
    answer_numbers,
    has_different_users,
    pair_of,
    top_models,
)
from concord.reports.text.groups import explains, missing_list_sentences
from concord.reports.text.numbers import (
    interval_name,
    min_effect_text,
    number,
    signed_interval,
    undecided_note,
    with_details,
)
from concord.reports.text.segments import segment_sentences
from concord.reports.text.verdict_styles import ORDER_DECIDES


def verdict_sentences(comparison: Comparison) -> list[str]:
    """Return the decision, the differences of the best models, and what limits the verdicts."""
    return [
        answer(comparison),
        answer_numbers(comparison),
        *limits(comparison),
        *_reversed_segments(comparison),
    ]


def limits(comparison: Comparison) -> list[str]:
    """Return why the best models are tied, and verdicts that rest on few or on other users.

    A warning names other users if values are those of another tool.
    """
    if len(comparison.models) == 1:
        return []
    ties = (_tie(label, comparison) for label in comparison.primary)
    other_users = _different_users(comparison) if comparison.has_lists else ()
    return [*filter(None, ties), *_cautions(comparison), *other_users]


def _tie(label: str, comparison: Comparison) -> str:
    """Return the lead over the runner-up if it does not decide which of the two is better."""
    best, *others = top_models(comparison, label)[:2] or [""]
    if not others:
        return ""
    pair = pair_of(comparison, best, others[0], label)
    difference = absolute_difference(pair, comparison)
    return f"On {label}, {best} is {difference}: {_reason(pair, comparison)}."


def _reversed_segments(comparison: Comparison) -> Iterator[str]:
    """Yield the segments in which a difference to the baseline has the opposite sign."""
    for segmentation in comparison.segments:
        turned = [c for c in segmentation.cells if c.label in comparison.primary and c.is_reversed]
        yield from segment_sentences(comparison, segmentation, turned)
    if not any(explains(comparison, warning) for warning in comparison.warnings):
        yield from missing_list_sentences(comparison)


def _cautions(comparison: Comparison) -> Iterator[str]:
    pairs = comparison.primary_pairs
    few = [
        f"{pair.a} against {pair.b} on {pair.label} ({format_count(pair.n_nonzero, 'user')})"
        for pair in pairs
        if pair.caution
    ]
    if few:
        yield (
            f"Take with caution, as fewer than {MIN_T_TEST_USERS} users have different values: "
            f"{join_names(few)}."
        )


def _different_users(comparison: Comparison) -> Iterator[str]:
    """Yield the models whose mean is over other users than their difference to the baseline."""
    units = "requests" if comparison.unit else "users"
    for label in comparison.primary:
        pairs = comparison.against_baseline(label)
        partial = [pair.a for pair in pairs if has_different_users(pair, comparison)]
        if partial:
            yield (
                f"On {label}, {join_names(partial)} and {comparison.baseline} do not have values "
                f"for the same {units}: they are compared on the {units} with values of both."
            )


def absolute_difference(pair: Difference | ReplicatedDifference, comparison: Comparison) -> str:
    """Return `0.041 above popularity (95 % interval +0.035 to +0.047)`."""
    if pair.difference is None:
        return f"not comparable with {pair.b}"
    decimals = comparison.decimals[pair.label]
    interval = signed_interval(pair.ci_low, pair.ci_high, decimals)
    if interval:
        interval = f"{interval_name(pair, comparison.confidence)} {interval}"
    size, side = number(abs(pair.difference), decimals), "above" if pair.difference > 0 else "below"
    amount = f"{size} {side}" if size.strip("0.") else "level with"
    return with_details(f"{amount} {pair.b}", interval)


def _reason(pair: Difference, comparison: Comparison) -> str:
    """Return why the leader, `a`, is not better than `b`."""
    if pair.verdict == "undecided":
        return _undecided_reason(pair, comparison)
    if pair.verdict == "too_few_users":
        return _too_few_reason(pair, comparison)
    threshold = min_effect_text(comparison, pair.label)
    if comparison.metric(pair.label).share is not None:
        threshold += f" of {comparison.baseline}"
    words = {
        "equivalent": f"too small to matter, as the interval lies within ±{threshold}",
        "identical": "every user has the same value with both",
        "no_interval": "not tested, as the mean is pooled over users",
        "undecided_by_order": f"not decided, as {ORDER_DECIDES}",
    }
    return words.get(pair.verdict, "reversed on the users with values of both")


def _undecided_reason(pair: Difference, comparison: Comparison) -> str:
    if pair.ci_low is None:
        return "not decided, as min_effect is a share of a mean that may be 0"
    shown = undecided_note(pair, comparison.decimals[pair.label])
    these = f"; these {format_count(pair.n_users, 'user')} {shown}" if shown else ""
    return f"not decided, as the interval includes 0{these}"


def _too_few_reason(pair: Difference, comparison: Comparison) -> str:
    if not pair.n_users:
        return "no user has a value with both"
    have = "has" if pair.n_nonzero == 1 else "have"
    needed = min_differing_for(1 - pair.level)
    only = f"only {format_count(pair.n_nonzero, 'user')} {have} different values"
    return f"{only}; a {interval_name(pair, comparison.confidence)} needs at least {needed}"
