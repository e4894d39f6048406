"""Few users and rounding noise, through the public functions."""

import numpy as np
import polars as pl

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


def test_two_users_have_an_interval_inside_the_bounds_of_the_metric() -> None:
    lists = {0: ["a", "b", "c"], 1: ["b", "a", "c"]}

    result = concord.evaluate(
        frame(lists), truth({0: "a", 1: "a"}), metrics=["nDCG@3"], conventions="standard"
    ).summaries["nDCG@3"]

    assert 0 <= result.ci_low < result.mean < result.ci_high <= 1


def test_the_report_says_how_many_users_would_be_needed() -> None:
    """Two comparisons with c, each with half of the level: 2^(1 - n) <= 0.025 from 7 users on."""
    models = {
        name: by_user([0.5 + i / 100 + shift for i in range(6)])
        for name, shift in (("a", 0.2), ("b", 0.1), ("c", 0.0))
    }

    comparison = concord.compare_values(models, baseline="c", bounds={"m": (0, 1)})

    assert comparison.difference("a", "c", "m").verdict == "too_few_users"  # type: ignore[union-attr]
    assert any(
        "only 6 users have different values; a joint 95\xa0% interval needs at least 7" in each
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
