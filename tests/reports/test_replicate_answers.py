"""Would it hold if trained again? The sentences, of differences whose numbers are stated."""

from dataclasses import replace
from typing import Any

import pytest

from concord.metrics_core.results.comparison import Comparison
from concord.reports.text.answer import answer
from concord.reports.text.replicates import replicate_answers
from tests.metrics_core.defined import defined
from tests.reports.samples.sample_replicates import replicate_sample

FIRST = "nDCG@3"


def _answers(comparison: Comparison) -> list[str]:
    return [answer.replace("\N{NO-BREAK SPACE}", " ") for answer in replicate_answers(comparison)]


def _first(comparison: Comparison, **changed: Any) -> str:
    """Return the answer on als against ease, with other numbers."""
    row = defined(comparison.replicates)
    pairs = [
        replace(pair, **changed) if (pair.label, pair.a, pair.b) == (FIRST, "als", "ease") else pair
        for pair in row.pairs
    ]
    return _answers(replace(comparison, replicates=replace(row, pairs=tuple(pairs))))[0]


SETTLED = {
    "difference": 0.04,
    "ci_low": 0.02,
    "ci_high": 0.06,
    "p_adjusted": 0.001,
    "n_reversed": 0,
    "n_pairs": 12,
    "chance": 0.0001,
    "users_needed": None,
    "replicates_needed": None,
}
OPEN = SETTLED | {"ci_low": -0.02, "ci_high": 0.1, "n_reversed": 3, "chance": 0.166, "share": 0.75}


def test_settled_difference_is_stated_with_interval_reversals_and_probability() -> None:
    assert _first(replicate_sample(), **SETTLED) == (
        "On nDCG@3, yes: als can be expected to stay ahead of ease. Over users and replicates, als "
        "is 0.040 above ease (joint 95 % interval +0.020 to +0.060); the ranking changes in none "
        "of 12 pairs of replicates, and would change with a new replicate of each with probability "
        "less than 0.1 %."
    )


def test_a_number_over_all_users_is_reported_over_new_trainings_only() -> None:
    assert ". Over replicates, als is 0.040 above" in _first(
        replicate_sample(), **SETTLED, over_users=False
    )


@pytest.mark.parametrize(
    ("needed", "settle"),
    [
        (
            (5, None),
            "5 replicates of each would decide it, all else being equal; more users alone would "
            "not.",
        ),
        (
            (None, 4000),
            "4,000 users would decide it, all else being equal; more replicates alone would not.",
        ),
        ((5, 4000), "5 replicates of each or 4,000 users would decide it, all else being equal."),
        ((None, None), "neither more replicates nor more users alone would decide it."),
    ],
)
def test_open_difference_is_stated_with_the_replicates_needed(
    needed: tuple[int | None, int | None], settle: str
) -> None:
    trainings, users = needed

    message = _first(
        replicate_sample(), **OPEN | {"replicates_needed": trainings, "users_needed": users}
    )

    assert message.startswith("On nDCG@3, not significant: als may fall behind ease. Over users")
    assert "changes in 3 of 12 pairs of replicates" in message
    assert (
        "probability about 16.6 %. Replicates cause 75 % of the variance of this difference: "
        in message
    )
    assert message.endswith(settle)


def test_an_adjusted_p_value_decides_nothing() -> None:
    settled, open_ = (_first(replicate_sample(), **each) for each in (SETTLED, OPEN))

    assert _first(replicate_sample(), **SETTLED | {"p_adjusted": 0.06}) == settled
    assert _first(replicate_sample(), **OPEN | {"p_adjusted": 0.04}) == open_


def test_two_trainings_are_too_few() -> None:
    message = _answers(replicate_sample((2, 3, 1)))

    assert message[0].startswith(
        "On nDCG@3, unknown: 2 replicates are too few for an interval (at least 3). als is "
    )
    assert "interval 0" not in " ".join(message[:2])


def test_paired_trainings_are_counted_one_by_one() -> None:
    answers = _answers(replicate_sample((4, 4, 4), paired=True))

    assert " of 4 replicates, " in answers[0]
    assert not any("trained once" in answer for answer in answers)


def test_baseline_that_leads_is_described_as_the_leader() -> None:
    comparison = replicate_sample((3, 4, 1), names=("als", "ease", "pop"))
    led = replace(comparison, baseline="als")
    difference = defined(defined(comparison.retrained("als", "ease", FIRST)).difference)
    row = defined(comparison.replicates)
    backwards = [each.mirrored() if each.label == FIRST else each for each in row.pairs]

    turned_round = replace(led, replicates=replace(row, pairs=tuple(backwards)))

    assert f"als is {difference:.3f} above ease" in _answers(turned_round)[0]


def test_models_that_are_level_are_not_ranked() -> None:
    message = _first(
        replicate_sample(), **SETTLED | {"difference": 0.0, "ci_low": 0.0, "ci_high": 0.0}
    )

    assert message.startswith(
        "On nDCG@3, neither is ahead. Over users and replicates, als is level with ease ("
    )


def test_the_headline_is_no_surer_than_the_answer() -> None:
    """The answer says `best` without a restriction only if the replicates agree."""
    comparison = replicate_sample()
    best, replicates = comparison.leaders(FIRST)[0], defined(comparison.replicates)
    pairs_of_users = tuple(
        replace(pair, verdict="better" if pair.a == best else "worse")
        for pair in comparison.pairs
        if best in (pair.a, pair.b)
    )

    def headline(of_best: Any, of_other: Any) -> str:
        pairs = tuple(
            replace(pair, verdict=of_best if pair.a == best else of_other)
            for pair in replicates.pairs
        )
        retrained = replace(replicates, pairs=pairs)
        return answer(replace(comparison, pairs=pairs_of_users, replicates=retrained))

    claim = f"{best} is best on {FIRST} and R@3"
    assert headline("undecided", "undecided") == f"{claim}, as the models are trained now."
    assert headline("better", "worse") == f"{claim}."
