"""`concord.compare` of models with replicates: names, messages and invariances."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.results.stored import from_content, to_content
from tests.metrics_core.defined import defined

N_USERS, N_ITEMS = 60, 30
RNG = np.random.default_rng(14)
TRUTH = pl.DataFrame(
    {
        "user": np.repeat(np.arange(N_USERS), 2),
        "item": RNG.integers(0, N_ITEMS // 2, 2 * N_USERS) * 2,
    }
).with_columns(pl.col("item") + pl.int_range(pl.len()).mod(2))


def lists(seed: int, skill: float) -> pl.DataFrame:
    """Return ten items per user; relevant items rank higher with more `skill`."""
    rng = np.random.default_rng(seed)
    scores = rng.random((N_USERS, N_ITEMS))
    scores[TRUTH["user"].to_numpy(), TRUTH["item"].to_numpy()] += skill
    best = np.argsort(-scores, axis=1)[:, :10]
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(N_USERS), 10),
            "item": best.ravel(),
            "rank": np.tile(np.arange(1, 11), N_USERS),
        }
    )


ALS = {seed: lists(seed, 0.3 + 0.05 * seed) for seed in (1, 2, 3)}
EASE = {seed: lists(10 + seed, 0.1 * seed) for seed in (1, 2, 3)}
POPULARITY = lists(99, 0.0)


def compare(models: dict[str, Any], **settings: Any) -> cc.results.Comparison:
    defaults: dict[str, Any] = {
        "metrics": ["nDCG@10", "R@5"],
        "baseline": "popularity",
        "panel": False,
    }
    return cc.compare(
        models, TRUTH, conventions="standard", resamples=99, **{**defaults, **settings}
    )


@pytest.fixture(scope="module")
def comparison() -> cc.results.Comparison:
    return compare(
        {"als": {"replicates": ALS}, "popularity": POPULARITY, "ease": {"replicates": EASE}}
    )


def test_the_differences_carry_both_intervals(comparison: cc.results.Comparison) -> None:
    (row,) = comparison.differences.filter(label="nDCG@10", a="als", b="ease").to_dicts()

    names = ("trained_low", "ci_low", "difference", "ci_high", "trained_high")
    assert all(row[low] < row[high] for low, high in pairwise(names))
    assert comparison.models == ("als", "popularity", "ease")
    assert list(comparison.lists) == [
        "als-1",
        "als-2",
        "als-3",
        "popularity",
        "ease-1",
        "ease-2",
        "ease-3",
    ]


def test_a_models_interval_over_users_is_that_of_its_mean_values(
    comparison: cc.results.Comparison,
) -> None:
    each = [
        cc.evaluate(frame, TRUTH, metrics=["nDCG@10"], conventions="standard")
        for frame in ALS.values()
    ]
    mean = np.mean([result.per_user["nDCG@10"].to_numpy() for result in each], axis=0)
    half = 2.000995378 * mean.std(ddof=1) / np.sqrt(N_USERS)  # t on 59 degrees of freedom

    score = comparison.score("als", "nDCG@10")

    assert score.mean == pytest.approx(mean.mean(), abs=1e-12)
    assert score.ci_high == pytest.approx(mean.mean() + half, abs=1e-9)


def test_neither_the_order_of_models_nor_of_trainings_changes_a_number(
    comparison: cc.results.Comparison,
) -> None:
    again = compare(
        {
            "popularity": POPULARITY,
            "ease": {"replicates": dict(reversed(EASE.items()))},
            "als": {"replicates": dict(reversed(ALS.items()))},
        }
    )

    for label in ("nDCG@10", "R@5"):
        assert again.retrained("als", "ease", label) == comparison.retrained("als", "ease", label)


def test_without_replicates_nothing_of_them_is_there() -> None:
    plain = compare({"als": ALS[1], "popularity": POPULARITY}, paired_replicates=True)

    assert plain.replicates is None
    assert "trained_low" not in plain.differences.columns
    assert plain.retrained("als", "popularity", "nDCG@10") is None


def test_the_other_way_round_is_the_mirror_image(comparison: cc.results.Comparison) -> None:
    forth = defined(comparison.retrained("als", "popularity", "nDCG@10"))
    back = defined(comparison.retrained("popularity", "als", "nDCG@10"))

    assert (back.ci_low, back.difference) == (-(forth.ci_high or 0), -(forth.difference or 0))
    assert (forth.verdict, back.verdict) == ("better", "worse")


def test_paired_trainings_are_compared_one_by_one() -> None:
    popularity = {"replicates": {seed: lists(50 + seed, 0.0) for seed in ALS}}
    models = {"als": {"replicates": ALS}, "popularity": popularity}
    comparison = compare(models, paired_replicates=True)
    pair = defined(comparison.retrained("als", "popularity", "nDCG@10"))

    assert (pair.n_pairs, pair.replicates_df) == (3, 2)


def test_two_trainings_are_too_few_for_an_interval() -> None:
    two = compare({"als": {"replicates": {1: ALS[1], 2: ALS[2]}}, "popularity": POPULARITY})
    pair = defined(two.retrained("als", "popularity", "nDCG@10"))

    assert (pair.ci_low, pair.p, pair.verdict, pair.n_pairs) == (None, None, "no_interval", 2)


@pytest.mark.parametrize(
    ("models", "settings", "message"),
    [
        ({"als": {"replicates": {1: ALS[1]}}}, {}, "replicates.als: has 1 replicate: als-1"),
        ({"als": {"replicates": [ALS[1], ALS[2]]}}, {}, "write {1: lists, 2: lists}"),
        ({"als": {"replicates": ALS}, "als-1": ALS[1]}, {}, "is also the name of other lists"),
        (
            {"als": {"replicates": ALS}, "ease": {"replicates": {1: EASE[1], 4: EASE[2]}}},
            {"paired_replicates": True},
            "they cannot be paired",
        ),
        (
            {"als": {"replicates": {1: ALS[1], "1": ALS[2]}}},
            {},
            "has a duplicate number",
        ),
        ({"als": {"replicates": ALS}}, {"paired_replicates": "yes"}, "paired_replicates"),
        ({"als": {"replicates": ALS}}, {"baseline": "als-1"}, "'als-1' is not among the models"),
    ],
)
def test_invalid_replicates_are_refused(
    models: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(cc.InputError) as refused:
        compare({**models, "popularity": POPULARITY}, **settings)

    assert message in str(refused.value)


def test_best_replicated_model_is_described_if_the_leaders_are_not_replicated() -> None:
    comparison = compare(
        {
            "knn": lists(5, 0.9),
            "als": lists(6, 0.8),
            "ease": {"replicates": EASE},
            "popularity": POPULARITY,
        }
    )

    first, second, last = comparison.replicate_answers
    assert first.startswith("On nDCG@10, not significant: knn may fall behind ease.")
    assert " ease may fall behind popularity. " in second
    assert last.startswith("knn, als and popularity were trained once")


def test_where_nothing_can_be_tested_there_is_no_p_and_the_file_can_be_written() -> None:
    """One of 60 users differs; and a list of one item has no distances within."""
    user, item = POPULARITY.join(TRUTH, on=["user", "item"]).row(0)[:2]
    observed = pl.concat([POPULARITY.select("user", "item"), TRUTH]).filter(user=user)["item"]
    unknown = min({*range(N_ITEMS)} - {*observed})
    is_hit = (pl.col("user") == user) & (pl.col("item") == item)
    other = POPULARITY.with_columns(item=pl.when(is_hit).then(unknown).otherwise("item"))
    single = POPULARITY.filter(pl.col("rank") == 1)
    items = pl.DataFrame({"item": range(N_ITEMS), "categories": ["a"] * N_ITEMS})
    few = compare(
        {"als": {"replicates": {1: POPULARITY, 2: POPULARITY, 3: other}}, "popularity": POPULARITY}
    )
    undefined = compare(
        {"als": {"replicates": {1: single, 2: single, 3: single}}, "popularity": single},
        metrics=["nDCG@10", "ILD@10"],
        items=items,
    )

    assert defined(few.difference("als", "popularity", "nDCG@10")).n_nonzero == 1
    for comparison, label in ((few, "nDCG@10"), (undefined, "ILD@10")):
        pair = defined(comparison.retrained("als", "popularity", label))
        assert (pair.ci_low, pair.p, pair.verdict) == (None, None, "too_few_users")
        assert from_content(to_content(comparison)) == comparison
    assert "identical for every user" in undefined.replicate_answers[0]


def _failed() -> dict[str, Any]:
    """Five replicates of als, of which the third failed."""
    return {"replicates": {seed: lists(seed, 0.0 if seed == 3 else 3.0) for seed in range(1, 6)}}


def test_a_training_far_from_the_others_is_a_warning() -> None:
    comparison = compare({"als": _failed(), "popularity": POPULARITY}, primary=["nDCG@10"])

    (warning,) = [each for each in comparison.warnings if each.code == "outlying_training"]
    assert (warning.severity, warning.models) == ("notice", ("als",))
    assert warning.sentence.startswith(
        "als-3 is far from the other replicates of als on nDCG@10: 0."
    )
    assert warning.sentence.endswith("intervals over replicates are too narrow.")
    assert warning.fix == "look into this training run, and train more replicates"


def test_replicates_of_equal_spread_give_no_warning(comparison: cc.results.Comparison) -> None:
    assert "outlying_training" not in {each.code for each in comparison.warnings}


def test_a_fold_that_is_hard_for_all_models_is_no_warning_where_they_are_paired() -> None:
    models = {"als": _failed(), "popularity": _failed()}

    def kinds(**settings: Any) -> set[str]:
        comparison = compare(models, primary=["nDCG@10"], **settings)
        return {each.code for each in comparison.warnings if each.code == "outlying_training"}

    assert kinds() == {"outlying_training"}
    assert kinds(paired_replicates=True) == set()


def test_a_paired_training_is_held_against_the_baseline() -> None:
    as_ever = {"replicates": {seed: lists(seed + 20, 0.5) for seed in range(1, 6)}}
    models = {"als": _failed(), "popularity": as_ever}
    comparison = compare(models, primary=["nDCG@10"], paired_replicates=True)

    (warning,) = [each for each in comparison.warnings if each.code == "outlying_training"]
    assert (
        "als-3 is far from the other replicates of als "
        "by the difference to popularity on nDCG@10: " in warning.sentence
    )


def test_the_interval_over_new_trainings_holds_that_over_users() -> None:
    """Six users: their t interval excludes 0, that of sign flips does not."""
    users = [f"u{n}" for n in range(6)]

    def ranked(ranks: list[int]) -> dict[str, list[str]]:
        """Return lists of five, with the relevant item at these ranks."""
        return {
            user: [*[*"abcd"][: rank - 1], "hit", *[*"abcd"][rank - 1 :]]
            for user, rank in zip(users, ranks, strict=True)
        }

    trainings = {n: ranked([1, 1, 1, 1, 5, 5]) for n in range(3)} | {3: ranked([1, 1, 1, 1, 5, 4])}
    comparison = cc.compare(
        {"b": ranked([2, 2, 2, 2, 4, 4]), "a": {"replicates": trainings}},
        {user: ["hit"] for user in users},
        metrics=["RR@5"],
        baseline="b",
        panel=False,
        resamples=99,
    )
    (users_only,), retrained = comparison.pairs, comparison.retrained("a", "b", "RR@5")

    assert retrained is not None
    assert defined(retrained.p) < 0.05  # of t
    assert defined(retrained.ci_low) <= defined(users_only.ci_low) < 0
    assert (users_only.verdict, retrained.verdict) == ("undecided", "undecided")
    assert (retrained.users_needed, retrained.replicates_needed) == (30, None)
    assert "30 users would decide it" in comparison.replicate_answers[0]
