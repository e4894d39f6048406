"""Would it hold if the models were trained again? The answer in sentences, for each primary metric."""

from collections.abc import Iterator

from concord.metrics_core.errors import in_words
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.replicates import (
    FEWEST_TRAININGS,
    ReplicatedDifference,
    Replicates,
)
from concord.metrics_core.results.words import PERCENT, digits, listed, number, percent

_HARDLY = 0.001  # a chance below which no figure is told


def replicate_answers(comparison: Comparison) -> Iterator[str]:
    """Yield the answers: the best model of each primary metric against baseline and runner-up."""
    if (found := comparison.replicates) is not None:
        for label in comparison.primary:
            yield from _answers(label, comparison, found)
        yield from _once(comparison, found)


def _answers(label: str, comparison: Comparison, found: Replicates) -> Iterator[str]:
    for ahead, behind in _asked(label, comparison, found):
        if pair := comparison.retrained(ahead, behind, label):
            sign = 1 if comparison.metric(label).higher_is_better else -1
            turned = sign * (pair.difference or 0) < 0  # means are over more users than differences
            yield f"On {label}, {_answer(pair.mirrored() if turned else pair, comparison)}"


def _asked(label: str, comparison: Comparison, found: Replicates) -> list[tuple[str, str]]:
    """The best model against runner-up and baseline; where all of these were trained once, the best that was not."""
    ranked = [*comparison.leaders(label), *comparison.others(label)]
    best, baseline = ranked[0], comparison.baseline
    pairs = [(best, other) for other in dict.fromkeys([*ranked[1:2], baseline]) if other != best]
    if any(comparison.retrained(a, b, label) for a, b in pairs):
        return pairs
    first = next((model for model in ranked if model in found.models), best)
    ahead, behind = sorted((first, baseline), key=ranked.index)
    return list(dict.fromkeys([(best, first), (ahead, behind)]))


def _answer(pair: ReplicatedDifference, comparison: Comparison) -> str:
    """Of the best model, `a`, against another one."""
    best, rival = pair.a, pair.b
    if pair.difference is None or pair.verdict in {"identical", "not_comparable"}:
        alike = pair.verdict == "identical"
        why = (
            "neither is ahead: {} are identical for every user"
            if alike
            else "unknown: {} cannot be compared"
        )
        return f"{why.format(f'{best} and {rival}')}."
    few = min(n for n in (pair.trainings_a, pair.trainings_b) if n > 1)
    seen = f"{best} is {_gap(pair, comparison)} {rival}{{}}; {_turned(pair, comparison)}."
    if pair.ci_low is None or pair.ci_high is None:
        why = "there is no interval"
        if few < FEWEST_TRAININGS:
            why = f"{few} trainings are too few for an interval (at least {FEWEST_TRAININGS})"
        return f"unknown: {why}. {seen.format('')}"
    if pair.difference == 0:
        return f"neither is ahead. {_over(pair)} {seen.format(f' ({_interval(pair, comparison)})')}"
    seen = f"{_over(pair)} {seen.format(f' ({_interval(pair, comparison)})')}"
    if pair.ci_low <= 0 <= pair.ci_high:
        settled = _what_would_settle(pair)
        return f"not surely: {best} need not stay ahead of {rival}. {seen} {settled}"
    if pair.p_adjusted is not None and pair.p_adjusted >= 1 - comparison.confidence:
        of_all = sum(each.p is not None and each.primary for each in _all(comparison))
        but = f"not once corrected for {in_words(of_all, 'comparison')}"
        return f"not surely: {best} stays ahead of {rival} taken alone, but {but}. {seen}"
    return f"yes: {best} can be expected to stay ahead of {rival}. {seen}"


def _all(comparison: Comparison) -> tuple[ReplicatedDifference, ...]:
    return comparison.replicates.pairs if comparison.replicates else ()


def _turned(pair: ReplicatedDifference, comparison: Comparison) -> str:
    """How often the order was the other one, and how probably one new training of each would turn it."""
    once = min(pair.trainings_a, pair.trainings_b) == 1
    trainings = "trainings" if once or _paired(pair, comparison) else "pairs of trainings"
    seen = f"the order turned in {pair.turned or 'none'} of {pair.of} {trainings}"
    if pair.chance is None:
        return seen
    chance = f"about {percent(pair.chance)}"
    if pair.chance < _HARDLY:
        chance = f"less than {percent(_HARDLY)}"
    again = "another training" if once else "another training of each"
    return f"{seen}, and {again} would turn it with a chance of {chance}"


def _paired(pair: ReplicatedDifference, comparison: Comparison) -> bool:
    found = comparison.replicates
    return found is not None and found.paired and pair.trainings_a == pair.trainings_b


def _over(pair: ReplicatedDifference) -> str:
    return "Over new users and new trainings" if pair.over_users else "Over new trainings"


def _gap(pair: ReplicatedDifference, comparison: Comparison) -> str:
    """`0.072 above`, in the digits of the intervals over users."""
    gap = pair.difference or 0.0
    if gap == 0:
        return "level with"
    size = number(abs(gap), digits(comparison.pairs_of(pair.label)))
    return f"{size} {'above' if gap > 0 else 'below'}"


def _interval(pair: ReplicatedDifference, comparison: Comparison) -> str:
    """Of what the best is above the other, or below."""
    assert pair.ci_low is not None
    assert pair.ci_high is not None
    assert pair.difference is not None
    places = digits(comparison.pairs_of(pair.label))
    low, high = pair.ci_low, pair.ci_high
    if pair.difference < 0:
        low, high = 0.0 - high, 0.0 - low
    level = f"{100 * comparison.confidence:.12g}{PERCENT}"
    return f"{level} interval {number(low, places)} to {number(high, places)}"


def _what_would_settle(pair: ReplicatedDifference) -> str:
    share = (
        ""
        if pair.share is None
        else f"Trainings make {percent(pair.share)} of the variance of this difference: "
    )
    trainings, users = pair.trainings_needed, pair.users_needed
    if trainings is None and users is None:
        return _begun(f"{share}neither more trainings nor more users alone would settle it.")
    ways, other = [], ""
    if trainings is not None:
        once = min(pair.trainings_a, pair.trainings_b) == 1
        ways.append(f"{trainings} trainings{'' if once else ' of each'}")
    elif users is not None:
        other = "; more trainings alone would not"
    if users is not None:
        ways.append(f"{users:,} users")
    elif pair.over_users:
        other = "; more users alone would not"
    settle = f"{share}{' or '.join(ways)} would settle it, were all else as it is{other}."
    return _begun(settle)


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _once(comparison: Comparison, found: Replicates) -> Iterator[str]:
    """Models of which one training stands for all."""
    once = [model for model in comparison.ranked if model not in found.models]
    if once:
        was = "was" if len(once) == 1 else "were"
        yield (
            f"{listed(once)} {was} trained once: no interval covers what another training of "
            f"{'it' if len(once) == 1 else 'them'} would change."
        )
    if found.nested:
        yield (
            "Each training has users of its own, as folds have: the intervals rest on the means of trainings, which "
            "share training data, so they are rather too short than too long."
        )
