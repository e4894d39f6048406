"""Models that were trained several times: what new trainings would change, as rows of text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.metrics_core.results.replicates import (
    FEWEST_TRAININGS,
    ReplicatedDifference,
    Replicates,
)
from concord.metrics_core.results.words import listed
from concord.reports.sections.tables import MANY_MODELS
from concord.reports.writing import numbers


@dataclass(frozen=True)
class Trained:
    """A model on a label; `sd`, `means` and `over_trainings` are empty for one that was trained once."""

    model: str
    trainings: int
    mean: str
    means: str
    sd: str
    over_users: str
    over_trainings: str


@dataclass(frozen=True)
class Pair:
    """A pair on a label, over users only (`users`) and over new trainings (`pair`)."""

    users: Difference
    pair: ReplicatedDifference
    difference: str
    over_users: str
    over_trainings: str
    trainings: str
    degrees: str
    turned: str
    chance: str
    share: str
    settles: str


def count(comparison: Comparison) -> str:
    """`3, of 8 trainings`; how many models where each was trained once."""
    models = f"{len(comparison.ranked)}"
    return f"{models}, of {len(comparison.lists)} trainings" if comparison.replicates else models


def answers(comparison: Comparison) -> list[tuple[str, str]]:
    """(what is answered, what it rests on) for each sentence of the answer."""
    parted = (sentence.partition(". ") for sentence in comparison.replicate_answers)
    return [(f"{head}{dot.rstrip()}", rest) for head, dot, rest in parted]


def trained(comparison: Comparison, label: str) -> list[Trained]:
    """All models, the best first by the first primary label."""
    assert comparison.replicates is not None
    return [_trained(comparison, comparison.replicates, model, label) for model in comparison.ranked]  # fmt: skip


def _trained(comparison: Comparison, replicates: Replicates, model: str, label: str) -> Trained:
    digits = numbers.digits_of(comparison, label)
    score, found = comparison.score(model, label), replicates.score(model, label)
    means = sorted(mean for mean in found.means if mean is not None) if found else []
    n = len(found.means) if found else 1
    over = numbers.interval(found.ci_low, found.ci_high, digits) if found else ""
    return Trained(
        model=model,
        trainings=n,
        mean=numbers.number(score.mean, digits),
        means=", ".join(numbers.number(mean, digits) for mean in means),
        sd=numbers.number(found.sd_trainings, digits + 1) if found else "",
        over_users=numbers.interval(score.ci_low, score.ci_high, digits) or numbers.MISSING,
        over_trainings=over or ("trained once" if n == 1 else _without(n)),
    )


def _without(n: int) -> str:
    return "too few for an interval" if n < FEWEST_TRAININGS else numbers.MISSING


def pairs(comparison: Comparison, label: str) -> list[Pair]:
    """Those of which at least one model was trained several times; with many models those with the baseline only."""
    few = len(comparison.ranked) < MANY_MODELS
    return [
        _pair(comparison, users, over)
        for users in comparison.pairs_of(label)
        if (few or users.vs_baseline)
        and (over := comparison.retrained(users.a, users.b, label)) is not None
    ]


def again(comparison: Comparison, users: Difference) -> Pair | None:
    """The same difference over new trainings; None where both models were trained once, or all models were."""
    over = comparison.retrained(users.a, users.b, users.label)
    return None if over is None else _pair(comparison, users, over)


def covers(pair: Pair) -> str:
    """What the interval over new trainings covers."""
    return "users and new trainings" if pair.pair.over_users else "new trainings"


def others(comparison: Comparison) -> list[Pair]:
    """The pairs of all labels that are not primary."""
    return [
        pair
        for label in comparison.labels
        if label not in comparison.primary
        for pair in pairs(comparison, label)
    ]


def _pair(comparison: Comparison, users: Difference, pair: ReplicatedDifference) -> Pair:
    digits = numbers.difference_digits_of(comparison, pair.label)
    few = min(n for n in (pair.trainings_a, pair.trainings_b) if n > 1)
    over = numbers.signed_interval(pair.ci_low, pair.ci_high, digits)
    return Pair(
        users=users,
        pair=pair,
        difference=numbers.signed(pair.difference, digits),
        over_users=numbers.signed_interval(users.ci_low, users.ci_high, digits) or numbers.MISSING,
        over_trainings=over or _without(few),
        trainings=f"{pair.trainings_a} and {pair.trainings_b}",
        degrees=_degrees(pair.trainings_df),
        turned=f"{pair.turned} of {pair.of}",
        chance=_chance(pair.chance),
        share=numbers.share(pair.share),
        settles=_settles(pair),
    )


def _degrees(df: float | None) -> str:
    """`2`, or `4.3` by Welch's formula."""
    return numbers.MISSING if df is None else f"{df:.1f}".removesuffix(".0")


def _chance(chance: float | None) -> str:
    return numbers.MISSING if chance is None else numbers.share(chance)


def _settles(pair: ReplicatedDifference) -> str:
    ways = []
    if pair.trainings_needed is not None:
        ways.append(f"{pair.trainings_needed} trainings each")
    if pair.users_needed is not None:
        ways.append(f"{pair.users_needed:,} users")
    if ways:
        return " or ".join(ways)
    if pair.ci_low is None or pair.ci_high is None:
        return f"{FEWEST_TRAININGS} trainings, for an interval"
    return "neither alone" if pair.ci_low <= 0 <= pair.ci_high else "settled"


def shown(comparison: Comparison, model: str, label: str) -> list[float]:
    """The differences of single trainings to the baseline, in their order.

    Training by training where they are paired; else to the baseline's mean, or of the model's mean to each training of
    the baseline where only that has several.
    """
    found = comparison.replicates
    assert found is not None
    return list(_single(found, comparison, model, label))


def _single(found: Replicates, comparison: Comparison, model: str, label: str) -> Iterator[float]:
    of_model, of_baseline = (
        _means(found, comparison, m, label) for m in (model, comparison.baseline)
    )
    if len(of_model) == 1:
        rows = [(of_model[0], mean) for mean in of_baseline] if len(of_baseline) > 1 else []
    elif found.paired and len(of_model) == len(of_baseline):
        rows = list(zip(of_model, of_baseline, strict=True))
    else:
        rows = [(mean, comparison.score(comparison.baseline, label).mean) for mean in of_model]
    yield from (a - b for a, b in rows if a is not None and b is not None)


def _means(
    found: Replicates, comparison: Comparison, model: str, label: str
) -> Sequence[float | None]:
    score = found.score(model, label)
    return score.means if score else (comparison.score(model, label).mean,)


def users_df(comparison: Comparison) -> str:
    """Degrees of freedom of the users' part: `299`, or `250 to 299` where metrics differ in their users."""
    found = sorted({pair.n_users - 1 for pair in comparison.pairs if pair.ci_low is not None})
    ends = [f"{n:,}" for n in dict.fromkeys((*found[:1], *found[-1:]))]
    return " to ".join(ends) or "none"


def lede(comparison: Comparison) -> str:
    """What each of the two intervals covers, and on how many degrees of freedom it rests."""
    found = comparison.replicates
    assert found is not None
    said = [
        "The interval over users only says what other users would change, each model as it was trained. The interval "
        "over users and new trainings says what training again would change, too. Both are of the difference of means, "
        "over all trainings that could be: a single new training may lie outside. They take trainings to vary about as far up "
        "as down: a failure that none of these trainings had is in no interval."
    ]
    if found.nested:
        said.append(
            "Each training has users of its own, so the spread of trainings holds that of users: trainings − 1 degrees "
            "of freedom (df)."
        )
    else:
        welch = (
            ""
            if found.paired
            else ", by the formula of Welch where both models were trained several times"
        )
        said.append(f"Degrees of freedom (df): users − 1, and trainings − 1{welch}.")
    few = [model for model, lists in found.models.items() if len(lists) < FEWEST_TRAININGS]
    if few:
        said.append(
            f"{listed(few)} {'was' if len(few) == 1 else 'were'} trained twice: too few for an interval over new "
            f"trainings, which takes {FEWEST_TRAININGS}."
        )
    return " ".join(said)
