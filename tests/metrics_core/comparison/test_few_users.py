"""Few users and rounding noise, through the public functions."""

import numpy as np
import polars as pl
import pytest

import concord
from concord.metrics_core.results.comparison_parts import Difference

Lists = dict[int, list[str]]


def frame(lists: Lists) -> pl.DataFrame:
    rows = [
        (user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, 1)
    ]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def truth(items: dict[int, str]) -> pl.DataFrame:
    return pl.DataFrame({"user": list(items), "item": list(items.values())})


def by_user(values: list[float]) -> dict[str, dict[int, float]]:
    return {"m": dict(enumerate(values))}


def difference(a: list[float], b: list[float]) -> Difference:
    comparison = concord.compare_values(
        {"a": by_user(a), "b": by_user(b)}, baseline="b", bounds={"m": (0, 1)}
    )
    row = comparison.difference("a", "b", "m")
    assert row is not None
    return row


def test_rounding_noise_is_no_difference() -> None:
    """A mean of three equal thirds has another last bit: no user differs."""
    expected = np.random.default_rng(1).random(200) * 0.9 + 0.05
    actual = expected * (1 + 4e-16)

    row = difference(actual.tolist(), expected.tolist())

    assert (actual != expected).sum() > 50
    assert (row.verdict, row.difference, row.n_nonzero) == ("identical", 0.0, 0)
    assert row.equal == 1.0


def test_rounding_noise_is_not_counted_among_the_users_who_differ() -> None:
    """Three users really differ, which is too few; the last bits of the others do not count."""
    expected = np.random.default_rng(2).random(200) * 0.9 + 0.05
    actual = expected * (1 + 4e-16)
    actual[:3] += 0.05

    row = difference(actual.tolist(), expected.tolist())

    assert (row.verdict, row.n_nonzero, row.p) == ("too_few_users", 3, None)


def test_the_same_lists_as_three_trainings_are_identical() -> None:
    rng = np.random.default_rng(3)
    items = [f"i{n}" for n in range(60)]
    lists = {u: rng.permutation(items)[:10].tolist() for u in range(80)}
    relevant = truth({u: items[int(rng.integers(0, 60))] for u in lists})
    recs = frame(lists)

    comparison = concord.compare(
        {"once": recs, "thrice": {"replicates": {1: recs, 2: recs, 3: recs}}},
        relevant,
        baseline="once",
        conventions="standard",
        metrics=["P@10", "nDCG@10"],
        primary=["P@10", "nDCG@10"],
    )

    for label in ("P@10", "nDCG@10"):
        row = comparison.difference("thrice", "once", label)
        assert row is not None
        assert (row.verdict, row.difference) == ("identical", 0.0)
    assert comparison.replicates is not None
    assert all(pair.chance is None and pair.n_reversed == 0 for pair in comparison.replicates.pairs)


@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_a_gate_passes_what_differs_by_rounding_alone(margin: float) -> None:
    """The ten items in another order: every metric of a set is the same, up to its last bits."""
    rng = np.random.default_rng(4)
    items = [f"i{n}" for n in range(60)]
    lists = {u: rng.permutation(items)[:10].tolist() for u in range(80)}
    turned = {u: rng.permutation(ten).tolist() for u, ten in lists.items()}
    train = pl.DataFrame(
        {"user": rng.integers(0, 80, 900), "item": rng.choice(items, 900)}
    ).unique()

    comparison = concord.compare(
        {"turned": frame(turned), "base": frame(lists)},
        truth({u: items[int(rng.integers(0, 60))] for u in lists}),
        baseline="base",
        conventions="standard",
        metrics=["P@10", "Novelty@10"],
        primary=["P@10", "Novelty@10"],
        train=train,
        gate={"guardrails": {"Novelty@10": margin}},
    )

    row = comparison.difference("turned", "base", "Novelty@10")
    assert row is not None
    assert (row.verdict, row.difference, row.n_nonzero) == ("identical", 0.0, 0)
    assert comparison.gate is not None
    assert comparison.gate.outcome == "pass"


def test_twelve_users_who_all_gain_1_do_not_settle_its_size() -> None:
    """p = 2 / 2^12; at least 73.5 % of the users gain 1, the others may lose 1."""
    row = difference([1.0] * 12, [0.0] * 12)
    share = 0.025 ** (1 / 12)

    assert row.p == 2 / 2**12
    assert (row.ci_low, row.ci_high) == pytest.approx((2 * share - 1, 1.0))
    assert row.verdict == "better"


@pytest.mark.parametrize(("hits", "low", "high"), [(20, 0.832, 1.0), (0, 0.0, 0.168)])
def test_twenty_of_twenty_hits_are_no_certainty(hits: int, low: float, high: float) -> None:
    lists = {u: ["a" if u < hits else "b"] for u in range(20)}

    hit = concord.evaluate(
        frame(lists),
        truth(dict.fromkeys(range(20), "a")),
        metrics=["Hit@1"],
        conventions="standard",
    ).summaries["Hit@1"]

    assert (hit.ci_low, hit.ci_high) == pytest.approx((low, high), abs=0.001)


def test_two_users_have_an_interval_inside_the_bounds_of_the_metric() -> None:
    lists = {0: ["a", "b", "c"], 1: ["b", "a", "c"]}

    result = concord.evaluate(
        frame(lists), truth({0: "a", 1: "a"}), metrics=["nDCG@3"], conventions="standard"
    ).summaries["nDCG@3"]

    assert 0 <= result.ci_low < result.mean < result.ci_high <= 1


@pytest.mark.parametrize(("n", "verdict"), [(5, "too_few_users"), (6, "better")])
def test_five_users_are_too_few_and_six_may_do(n: int, verdict: str) -> None:
    row = difference([0.5 + i / 100 for i in range(n)], [0.1] * n)

    assert row.verdict == verdict
    assert (row.p is None) == (n == 5)


def test_the_report_says_how_many_users_would_be_needed() -> None:
    """Three comparisons by Holm: 3 × 2^(1 - n) <= 0.05 from 7 users on."""
    models = {
        name: by_user([0.5 + i / 100 + shift for i in range(6)])
        for name, shift in (("a", 0.2), ("b", 0.1), ("c", 0.0))
    }

    comparison = concord.compare_values(models, baseline="c", bounds={"m": (0, 1)})

    assert comparison.difference("a", "c", "m").verdict == "too_few_users"  # type: ignore[union-attr]
    assert any(
        "a significant result among 3 comparisons needs at least 7" in each
        for each in comparison.verdicts
    ), comparison.verdicts


def test_a_gate_of_few_queries_rests_on_sign_flips_and_interval() -> None:
    """Seven of 20 queries gain 1/2: none is worse, so the gate passes without a margin."""
    lists = {u: ["x", "a"] if u % 2 else ["a", "x"] for u in range(20)}
    better = {u: ["a", "x"] if u < 14 else items for u, items in lists.items()}

    comparison = concord.compare(
        {"new": frame(better), "old": frame(lists)},
        truth(dict.fromkeys(lists, "a")),
        baseline="old",
        conventions="standard",
        metrics=["RR@2"],
        primary=["RR@2"],
        gate={"guardrails": {"RR@2": 0.0}},
    )

    assert comparison.gate is not None
    (guardrail,) = comparison.gate.models[0].guardrails
    assert (guardrail.test, guardrail.n_nonzero, guardrail.p) == ("sign_flips", 7, 2 / 2**7)
    assert guardrail.outcome == "pass"
