"""Would it hold if the models were trained again? The answer in sentences, for each primary metric."""

from collections.abc import Iterator
from dataclasses import replace

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.comparing.sentences.phrases import digits
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.replicates import ReplicatedDifference, Replicates
from concord.metrics_core.comparison.words import PERCENT, listed, number, percent
from concord.metrics_core.statistics.replicates import FEWEST_TRAININGS


def answered(comparison: Comparison) -> Replicates | None:
    """The replicates with their answers: the best model of each primary metric against baseline and runner-up."""
    found = comparison.replicates
    if found is None:
        return None
    answers = [each for label in comparison.primary for each in _answers(label, comparison)]
    return replace(found, answers=(*answers, *_once(comparison, found)))


def _answers(label: str, comparison: Comparison) -> Iterator[str]:
    ranked = [*comparison.leaders(label), *comparison.others(label)]
    best, others = ranked[0], ranked[1:]
    rivals = dict.fromkeys([*others[:1], comparison.baseline])
    for rival in rivals:
        if rival != best and (pair := comparison.retrained(best, rival, label)):
            yield f"On {label}, {_answer(pair, comparison)}"


def _answer(pair: ReplicatedDifference, comparison: Comparison) -> str:
    best, rival = pair.a, pair.b
    names = f"{best} and {rival}"
    if pair.difference is None:
        return f"{names} cannot be compared."
    turned = f"the order turned in {pair.turned} of {pair.of} {_pairs(comparison)}"
    few = min(n for n in (pair.trainings_a, pair.trainings_b) if n > 1)
    if few < FEWEST_TRAININGS:
        return (
            f"it cannot be said whether {best} would stay ahead of {rival} if trained again: {few} trainings are too few "
            f"for an interval (at least {FEWEST_TRAININGS}); {turned}."
        )
    if pair.ci_low is None or pair.ci_high is None:
        return (
            f"it cannot be said whether {best} would stay ahead of {rival}: no interval; {turned}."
        )
    side = f"ahead of {rival} {_over(pair)} ({_interval(pair, best, comparison)}; {turned}"
    if pair.ci_low <= 0 <= pair.ci_high:
        return f"{best} need not stay {side}). {_what_would_settle(pair)}"
    if pair.p_adjusted is not None and pair.p_adjusted >= 1 - comparison.confidence:
        of_all = sum(each.p is not None and each.primary for each in _all(comparison))
        return f"{best} need not stay {side}): not once corrected for {in_words(of_all, 'comparison')}."
    return f"{best} would stay {side})."


def _all(comparison: Comparison) -> tuple[ReplicatedDifference, ...]:
    return comparison.replicates.pairs if comparison.replicates else ()


def _pairs(comparison: Comparison) -> str:
    paired = comparison.replicates is not None and comparison.replicates.paired
    return "trainings" if paired else "pairs of trainings"


def _over(pair: ReplicatedDifference) -> str:
    return "with new users and new trainings" if pair.over_users else "with new trainings"


def _interval(pair: ReplicatedDifference, best: str, comparison: Comparison) -> str:
    """Of what the best is above the other; in the digits of the intervals over users."""
    assert pair.ci_low is not None
    assert pair.ci_high is not None
    assert pair.difference is not None
    places = digits(comparison.pairs_of(pair.label))
    up = pair.difference >= 0
    low, high = (pair.ci_low, pair.ci_high) if up else (0.0 - pair.ci_high, 0.0 - pair.ci_low)
    level = f"{100 * comparison.confidence:.12g}{PERCENT}"
    side = "above" if up else "below"
    gap = number(abs(pair.difference), places)
    return (
        f"{best} is {gap} {side}, {level} interval {number(low, places)} to {number(high, places)}"
    )


def _what_would_settle(pair: ReplicatedDifference) -> str:
    share = "" if pair.share is None else f"Trainings make {percent(pair.share)} of the variance: "
    trainings, users = pair.trainings_needed, pair.users_needed
    if trainings is None and users is None:
        return f"{share}neither more trainings nor more users alone would settle it."
    ways = []
    if trainings is not None:
        ways.append(f"{trainings} trainings of each")
    if users is not None:
        ways.append(f"{users:,} users")
    other = ""
    if users is None and pair.over_users:
        other = "; more users alone would not"
    elif trainings is None:
        other = "; more trainings alone would not"
    return f"{share}{' or '.join(ways)} would settle it, were all else as it is{other}."


def _once(comparison: Comparison, found: Replicates) -> Iterator[str]:
    """Models of which one training stands for all."""
    once = [model for model in comparison.ranked if model not in found.models]
    if once:
        those = "it is" if len(once) == 1 else "they are"
        yield f"Of {listed(once)} there is one training: {those} taken as {those}."
    if found.nested:
        yield (
            "Each training has users of its own, as folds have: the intervals rest on the means of trainings, which "
            "share training data, so they are rather too short than too long."
        )
