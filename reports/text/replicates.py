"""Models with replicates as text: whether the order would hold if models were trained again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.metrics_core.results.replicates import (
    MIN_INTERVAL_REPLICATES,
    ReplicatedDifference,
    Replicates,
)
from concord.metrics_core.results.text_format import join_names, percent
from concord.reports.text import numbers
from concord.reports.text.tables import MANY_MODELS
from concord.reports.text.verdicts import absolute_difference

_MIN_CHANCE = 0.001  # smaller chances are not shown as a figure
_UNKNOWN = "not known"  # an estimate of two replicates, on one degree of freedom
_NONE_SEEN = "none seen"  # replicates vary no more than the sample of users explains


def replicate_answers(comparison: Comparison) -> Iterator[str]:
    """Yield whether the best model of each primary metric stays ahead, then what is unknown."""
    replicates = comparison.replicates
    if replicates is None:
        return
    for label in comparison.primary:
        for ahead, behind in _compared_models(label, comparison, replicates):
            if pair := comparison.retrained(ahead, behind, label):
                sign = 1 if comparison.metric(label).higher_is_better else -1
                # The order is by means, which may be over more users than differences.
                is_behind = sign * (pair.difference or 0) < 0
                yield f"On {label}, {_answer(pair.mirrored() if is_behind else pair, comparison)}"
    once = [model for model in comparison.ranked if model not in replicates.models]
    if once:
        was, them = ("was", "it") if len(once) == 1 else ("were", "them")
        yield (
            f"{join_names(once)} {was} trained once: no interval covers other training runs of "
            f"{them}."
        )
    if replicates.nested:
        yield (
            "Each replicate has its own users, as folds do. The replicates share training data, so "
            "the intervals over their means tend to be too narrow."
        )


def _compared_models(
    label: str, comparison: Comparison, replicates: Replicates
) -> list[tuple[str, str]]:
    """Return pairs of the best model with runner-up and baseline.

    If none of these has replicates, the pairs are with the best model that has some.
    """
    ranked = [*comparison.leaders(label), *comparison.others(label)]
    best, baseline = ranked[0], comparison.baseline
    pairs = [(best, other) for other in dict.fromkeys([*ranked[1:2], baseline]) if other != best]
    if any(comparison.retrained(a, b, label) for a, b in pairs):
        return pairs
    first = next((model for model in ranked if model in replicates.models), best)
    ahead, behind = sorted((first, baseline), key=ranked.index)
    return list(dict.fromkeys([(best, first), (ahead, behind)]))


def _answer(pair: ReplicatedDifference, comparison: Comparison) -> str:
    """Return whether the best model, `a`, stays ahead of `b`."""
    best, rival = pair.a, pair.b
    if pair.verdict == "identical":
        return f"neither is ahead: {best} and {rival} are identical for every user."
    if pair.difference is None or pair.verdict == "not_comparable":
        return f"unknown: {best} and {rival} cannot be compared."
    difference = absolute_difference(pair, comparison)
    evidence = f"{best} is {difference}; {_reversals(pair, comparison)}."
    if pair.ci_low is None or pair.ci_high is None:
        few = _fewest(pair)
        reason = "there is no interval"
        if few < MIN_INTERVAL_REPLICATES:
            reason = (
                f"{few} replicates are too few for an interval (at least {MIN_INTERVAL_REPLICATES})"
            )
        return f"unknown: {reason}. {evidence}"
    evidence = f"Over {'users and ' if pair.over_users else ''}replicates, {evidence}"
    if pair.difference == 0:
        return f"neither is ahead. {evidence}"
    if pair.verdict == "undecided_by_order" or pair.ci_low <= 0 <= pair.ci_high:
        return f"not significant: {best} may fall behind {rival}. {evidence} {_remedy(pair)}"
    return f"yes: {best} can be expected to stay ahead of {rival}. {evidence}"


def _fewest(pair: ReplicatedDifference) -> int:
    """Return the number of replicates of the model that has fewer, but more than one."""
    return min(n for n in (pair.n_replicates_a, pair.n_replicates_b) if n > 1)


def _reversals(pair: ReplicatedDifference, comparison: Comparison) -> str:
    """Return how often the order is reversed, and the chance that new trainings reverse it."""
    replicates, once = comparison.replicates, min(pair.n_replicates_a, pair.n_replicates_b) == 1
    is_paired = replicates and replicates.paired and pair.n_replicates_a == pair.n_replicates_b
    units = "replicates" if once or is_paired else "pairs of replicates"
    evidence = f"the ranking changes in {pair.n_reversed or 'none'} of {pair.n_pairs} {units}"
    if pair.chance is None or _fewest(pair) < MIN_INTERVAL_REPLICATES:
        return evidence
    chance = f"about {percent(pair.chance)}"
    if pair.chance < _MIN_CHANCE:
        chance = f"less than {percent(_MIN_CHANCE)}"
    each = "" if once else " of each"
    return f"{evidence}, and would change with a new replicate{each} with probability {chance}"


def _remedy(pair: ReplicatedDifference) -> str:
    """Return the number of trainings or users that would decide the order."""
    replicates, users, share = pair.replicates_needed, pair.users_needed, ""
    if pair.share is not None:
        share = f"Replicates cause {percent(pair.share)} of the variance of this difference: "
    if replicates is None and users is None:
        text = f"{share}neither more replicates nor more users alone would decide it."
        return text[:1].upper() + text[1:]
    ways, other = [], ""
    if replicates is not None:
        once = min(pair.n_replicates_a, pair.n_replicates_b) == 1
        ways.append(f"{replicates} replicates{'' if once else ' of each'}")
    else:
        other = "; more replicates alone would not"
    if users is not None:
        ways.append(f"{users:,} users")
    elif pair.over_users:
        other = "; more users alone would not"
    return f"{share}{' or '.join(ways)} would decide it, all else being equal{other}."


def answers(comparison: Comparison) -> list[tuple[str, str]]:
    """Return (answer, evidence) for each sentence."""
    parts = (sentence.partition(". ") for sentence in comparison.replicate_answers)
    return [(f"{head}{dot.rstrip()}", details) for head, dot, details in parts]


@dataclass(frozen=True)
class Row:
    """A pair on a label, over users only and over new trainings, as texts."""

    users: Difference
    pair: ReplicatedDifference
    difference: str
    over_users: str
    over_trainings: str
    degrees: str
    chance: str
    share: str
    remedy: str


def means(comparison: Comparison, model: str, label: str) -> Sequence[float | None]:
    """Return the means of single trainings of a model."""
    score = comparison.replicates.score(model, label) if comparison.replicates else None
    return score.means if score else (comparison.score(model, label).mean,)


def sorted_means(comparison: Comparison, model: str, label: str) -> str:
    """Return the means of single trainings, in rising order; empty if there is only one."""
    if comparison.replicates is None or comparison.replicates.score(model, label) is None:
        return ""
    digits = comparison.decimals[label]
    known = sorted(mean for mean in means(comparison, model, label) if mean is not None)
    return ", ".join(numbers.number(mean, digits) for mean in known)


def interval_over_trainings(comparison: Comparison, model: str, label: str) -> str:
    """Return the interval of a model's mean over new trainings, or why there is none."""
    score = comparison.replicates.score(model, label) if comparison.replicates else None
    if score is None:
        return "trained once"
    digits = comparison.decimals[label]
    n = len(score.means)
    return numbers.interval(score.ci_low, score.ci_high, digits) or _no_interval(n)


def sd_text(comparison: Comparison, model: str, label: str) -> str:
    """Return the standard deviation between replicates, if there are enough to estimate it."""
    score = comparison.replicates.score(model, label) if comparison.replicates else None
    if score is None:
        return numbers.MISSING
    if len(score.means) < MIN_INTERVAL_REPLICATES:
        return _UNKNOWN
    if score.sd_replicates == 0 and len({*score.means}) > 1:
        return _NONE_SEEN
    return numbers.number(score.sd_replicates, comparison.decimals[label] + 1)


def _no_interval(n: int) -> str:
    return "too few for an interval" if n < MIN_INTERVAL_REPLICATES else numbers.MISSING


def rows(comparison: Comparison, label: str) -> list[Row]:
    """Return the pairs with a replicated model; with many models those with the baseline only."""
    has_all_pairs = len(comparison.ranked) < MANY_MODELS
    pairs = [pair for pair in comparison.pairs_of(label) if has_all_pairs or pair.vs_baseline]
    return [row for pair in pairs if (row := pair_row(comparison, pair)) is not None]


def other_rows(comparison: Comparison) -> list[Row]:
    """Return the pairs of all labels that are not primary."""
    others = [label for label in comparison.labels if label not in comparison.primary]
    return [row for label in others for row in rows(comparison, label)]


def pair_row(comparison: Comparison, users: Difference) -> Row | None:
    """Return a difference over users and over new trainings; None if no model has replicates."""
    pair = comparison.retrained(users.a, users.b, users.label)
    if pair is None:
        return None
    digits = comparison.decimals[pair.label]
    n_trainings = _fewest(pair)
    has_enough = n_trainings >= MIN_INTERVAL_REPLICATES
    chance = numbers.share(pair.chance) if has_enough and pair.chance is not None else ""
    share = _NONE_SEEN if pair.share == 0 else numbers.share(pair.share)
    df = pair.replicates_df
    over_trainings = numbers.signed_interval(pair.ci_low, pair.ci_high, digits)
    return Row(
        users=users,
        pair=pair,
        difference=numbers.signed(pair.difference, digits),
        over_users=numbers.signed_interval(users.ci_low, users.ci_high, digits) or numbers.MISSING,
        over_trainings=over_trainings or _no_interval(n_trainings),
        degrees=numbers.MISSING if df is None else f"{df:.1f}".removesuffix(".0"),
        chance=chance and f"probability {chance}",
        share=share if has_enough else _UNKNOWN,
        remedy=_short_remedy(pair),
    )


def _short_remedy(pair: ReplicatedDifference) -> str:
    ways = [] if pair.replicates_needed is None else [f"{pair.replicates_needed} replicates each"]
    ways += [] if pair.users_needed is None else [f"{pair.users_needed:,} users"]
    if ways:
        return " or ".join(ways)
    if pair.ci_low is None or pair.ci_high is None:
        return f"{MIN_INTERVAL_REPLICATES} replicates, for an interval"
    return "neither alone" if pair.ci_low <= 0 <= pair.ci_high else "decided"


def covers(row: Row) -> str:
    """Return what the interval over replicates covers."""
    return "users and replicates" if row.pair.over_users else "replicates"


def single_differences(comparison: Comparison, model: str, label: str) -> list[float]:
    """Return the differences of single trainings to the baseline.

    Paired trainings are compared with each other, unpaired ones with the mean of the baseline. If
    only the baseline has several trainings, the model's mean is compared with each of them.
    """
    replicates = comparison.replicates
    assert replicates is not None
    model_means, baseline = (
        means(comparison, name, label) for name in (model, comparison.baseline)
    )
    if len(model_means) == 1:
        pairs = [(model_means[0], mean) for mean in baseline] if len(baseline) > 1 else []
    elif replicates.paired and len(model_means) == len(baseline):
        pairs = list(zip(model_means, baseline, strict=True))
    else:
        pairs = [(mean, comparison.score(comparison.baseline, label).mean) for mean in model_means]
    return [a - b for a, b in pairs if a is not None and b is not None]


def users_df(comparison: Comparison) -> str:
    """Return the degrees of freedom of users: `299`, or `250 to 299` if they differ by metric."""
    counts = sorted({pair.n_users - 1 for pair in comparison.pairs if pair.ci_low is not None})
    return " to ".join(f"{n:,}" for n in dict.fromkeys((*counts[:1], *counts[-1:]))) or "none"


def interval_note(comparison: Comparison) -> str:
    """Return what each of the two intervals covers, and their degrees of freedom."""
    replicates = comparison.replicates
    assert replicates is not None
    sentences = [
        "The interval over users covers other users, with the models as they were trained. The "
        "interval over users and replicates covers new training runs, too. Both are intervals of "
        "the difference of means over all possible runs: a single new run may be outside. They "
        "assume that runs vary symmetrically: a failure that none of these runs had is not covered."
    ]
    if replicates.nested:
        sentences.append(
            "Each replicate has its own users, so the variance between replicates includes that of "
            "users: replicates − 1 degrees of freedom (df)."
        )
    else:
        welch = ", by Welch's formula if both models have several replicates"
        welch = "" if replicates.paired else welch
        sentences.append(f"Degrees of freedom (df): users − 1, and replicates − 1{welch}.")
    few = [
        model for model, lists in replicates.models.items() if len(lists) < MIN_INTERVAL_REPLICATES
    ]
    if few:
        sentences.append(
            f"{join_names(few)} {'was' if len(few) == 1 else 'were'} trained twice: an interval "
            f"over replicates needs at least {MIN_INTERVAL_REPLICATES}."
        )
    return " ".join(sentences)
