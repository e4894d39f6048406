"""Relevant items weighted by inverse propensities.

Compared with values by hand, a reference in plain Python, a known truth, and the stages.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

import concord as cc
from concord.metrics_core.comparison.aligned import align
from concord.metrics_core.conventions.option_types import PropensityOptions
from concord.metrics_core.metrics.label import expand
from concord.metrics_core.results.comparison_parts import or_nan
from tests.library import assert_library_gives_the_same, assert_same_bits, evaluated_project
from tests.project import change_params, copied_from, run, run_all_stages

TRUTH = {"u": {"a": 1, "c": 1, "b": 0}, "v": {"b": 2, "a": 1}}
TRAIN = {"w1": ["a", "b"], "w2": ["a", "b"], "w3": ["a"], "w4": ["a", "c"]}
RECS = {"u": ["c", "x", "a"], "v": ["a", "y", "b"]}
HALF: PropensityOptions = {"popularity": 0.5, "clip": 0.01, "fewest": 1}
LABELS = ["P@2", "R@2", "CG@2", "DCG@2", "nDCG@2", "RBP(p=0.5)@2"]


def pinned(**propensity: Any) -> cc.metrics.Conventions:
    changed: Any = {**HALF, **propensity}
    return cc.preset("standard", propensity=changed)


def test_by_hand() -> None:
    """4, 2 and 1 train users: propensities 1, sqrt(1/2), 1/2; weights 1, sqrt(2), 2.

    u finds c at rank 1; v finds a at rank 1, and wanted b, grade 2, as well.
    """
    result = cc.evaluate(RECS, TRUTH, metrics=LABELS, conventions=pinned(), train=TRAIN).per_user
    u, v = result.rows()
    second, root = 1 / math.log2(3), math.sqrt(2)

    assert u[1:] == pytest.approx((2 / 2, 2 / (1 + 2), 2, 2, 2 / (2 + 1 * second), 0.5 * 2))
    best = 2 * root + 1 * second
    assert v[1:] == pytest.approx((1 / 2, 1 / (1 + root), 1, 1, 1 / best, 0.5 * 1))


@pytest.mark.parametrize("table", ["items", "truth"])
def test_propensities_may_be_a_column_of_items_or_truth(table: Literal["items", "truth"]) -> None:
    inputs = pl.DataFrame({"item": ["a", "b", "c"], "seen": [1.0, math.sqrt(0.5), 0.5]})
    rows = [(user, item, grade) for user, grades in TRUTH.items() for item, grade in grades.items()]
    truth = pl.DataFrame(rows, ["user", "item", "grade"], orient="row").join(inputs, on="item")
    how: dict[str, Any] = {
        "columns": {table: {"propensity": "seen"}},
        "input": {"unknown_items": "keep"},
    }
    how |= {"items": inputs} if table == "items" else {}
    as_given = cc.preset("standard", propensity={"column": table, "clip": 0.01, "fewest": 1})

    result = cc.evaluate(RECS, truth, metrics=LABELS, conventions=as_given, **how).per_user

    expected = cc.evaluate(RECS, TRUTH, metrics=LABELS, conventions=pinned(), train=TRAIN).per_user
    for label in LABELS:
        assert result[label].to_list() == pytest.approx(expected[label].to_list(), rel=1e-14)


def reference(
    recommended: list[str], grades: Mapping[str, float], p: Mapping[str, float], k: int
) -> list[float]:
    """P, R, CG, DCG, nDCG and RBP(p=0.5) at k, from the definitions."""
    weight = {item: 1 / max(p.get(item, 0.0), 0.1) for item, grade in grades.items() if grade >= 1}
    hits = [(rank, item) for rank, item in enumerate(recommended[:k], 1) if item in weight]
    dcg = sum(weight[item] * grades[item] / math.log2(rank + 1) for rank, item in hits)
    best = sorted((weight[item] * grades[item] for item in weight), reverse=True)[:k]
    ideal = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(best, 1))
    return [
        sum(weight[item] for _, item in hits) / k,
        sum(weight[item] for _, item in hits) / sum(weight.values()),
        sum(weight[item] * grades[item] for _, item in hits),
        dcg,
        dcg / ideal,
        0.5 * sum(weight[item] * 0.5 ** (rank - 1) for rank, item in hits),
    ]


ITEMS = "abcdefgh"


@given(
    recommended=st.permutations(ITEMS),
    grades=st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 3), min_size=1),
    train=st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 9), min_size=1),
    k=st.integers(1, 8),
    exponent=st.sampled_from([0.3, 0.5, 1.0, 1.7]),
)
def test_against_plain_python(
    recommended: list[str], grades: dict[str, int], train: dict[str, int], k: int, exponent: float
) -> None:
    known = pl.DataFrame(
        [(f"t{n}", item) for item, count in train.items() for n in range(count)],
        ["user", "item"],
        orient="row",
    )
    share = {item: (count / max(train.values())) ** exponent for item, count in train.items()}
    labels = [f"{name}@{k}" for name in ("P", "R", "CG", "DCG", "nDCG", "RBP(p=0.5)")]

    result = cc.evaluate(
        {"u": recommended},
        {"u": grades},
        metrics=labels,
        conventions=pinned(popularity=exponent, clip=0.1),
        train=known,
    )

    assert result.per_user.row(0)[1:] == pytest.approx(
        reference(recommended, grades, share, k), rel=1e-9
    )


def test_equal_propensities_change_no_bit() -> None:
    """Of any exponent: all items have the same number of train users."""
    train = {"w": ["a", "b", "c"]}
    plain = cc.evaluate(RECS, TRUTH, metrics=LABELS, conventions="standard").per_user

    assert cc.evaluate(
        RECS, TRUTH, metrics=LABELS, conventions=pinned(), train=train
    ).per_user.equals(plain)


@pytest.mark.parametrize(
    ("metric", "propensity", "settings", "message"),
    [
        ("AP@2", {}, {}, "AP@2: `propensity` weights sums over hits"),
        (
            "R@2",
            {},
            {"recall_denominator": "min_k_relevant"},
            "does not support recall_denominator: min_k_relevant; choose relevant",
        ),
        ("nDCG@2", {}, {"ideal": "retrieved"}, "does not support ideal: retrieved"),
        (
            "P@2",
            {"normalised": "per_user"},
            {},
            "P@2: `propensity.normalised` divides by the weights of all relevant items",
        ),
        (
            "nDCG@2",
            {"normalised": "over_all"},
            {},
            "use R, Hit, CG, DCG, RBP, or leave `normalised` out",
        ),
        (
            "R@2",
            {"normalised": "over_all"},
            {"truth_visible": "retrieved"},
            "does not support truth_visible: retrieved",
        ),
        ("Serendipity@2", {}, {}, "Serendipity@2: `propensity` weights sums over hits"),
        (
            "R@2",
            {},
            {"overrides": {"R": {"relevance_threshold": 2}}},
            "counts the rows of relevance_threshold: 1, and this metric has 2",
        ),
        (
            "P@2",
            {"fewest": 30},
            {},
            "is 3.7, and `fewest` requires 30",
        ),
    ],
)
def test_metric_that_cannot_be_weighted_is_refused(
    metric: str, propensity: Any, settings: dict[str, Any], message: str
) -> None:
    conventions = cc.preset("standard", propensity={**HALF, **propensity}, **settings)

    with pytest.raises(ValueError, match=r"propensity") as refused:
        cc.evaluate(
            RECS,
            TRUTH,
            metrics=[metric],
            conventions=conventions,
            train=TRAIN,
            items=pl.DataFrame({"item": list("abcxy")}),
        )

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("propensity", "message"),
    [
        ("0.5", "propensity: is '0.5'"),
        ({"popularity": 0, "clip": 0.1, "fewest": 1}, "propensity.popularity: is 0"),
        ({"popularity": 0.5, "clip": 0, "fewest": 1}, "propensity.clip: is 0"),
        ({"popularity": 0.5, "fewest": 1}, "propensity.clip: is missing"),
        (
            {"popularity": 0.5, "column": "items", "clip": 0.1, "fewest": 1},
            "needs exactly one of popularity and column",
        ),
        ({"clip": 0.1, "fewest": 1}, "needs exactly one of popularity and column"),
        (
            {"popularity": 0.5, "clip": 0.1, "fewest": 1, "normalised": True},
            "write per_user or over_all",
        ),
        ({"exponent": 0.5, "clip": 0.1, "fewest": 1}, "propensity.exponent: is not a key of it"),
    ],
)
def test_invalid_propensities_are_refused(propensity: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"fix: ") as refused:
        cc.preset("standard", propensity=propensity)

    assert message in str(refused.value)


def test_unset_convention_changes_no_fingerprint() -> None:
    standard = cc.preset("standard")

    assert "propensity" not in standard.as_dict()
    assert standard.fingerprint == "8b9f230525cc"
    assert pinned().as_dict()["propensity"] == HALF
    assert RATIO.fingerprint != pinned(popularity=1).fingerprint
    with pytest.raises(ValueError, match="unit_mean: users gives all users the same weight"):
        cc.preset("standard", propensity=RATIO.as_dict()["propensity"], unit_mean="users")
    with pytest.raises(ValueError, match="propensity: popularity needs train"):
        cc.evaluate(RECS, TRUTH, metrics=["P@2"], conventions=pinned())


SHOP = {"popular": {"u": ["a", "x"], "v": ["a", "y"]}, "niche": {"u": ["c", "x"], "v": ["z", "b"]}}


def test_a_comparison_says_on_how_few_rows_it_rests() -> None:
    """Weights 1, 2 of u and sqrt(2), 1 of v: (sum)^2 / sum of squares, and 2 / sum."""
    comparison = cc.compare(
        SHOP, TRUTH, metrics=["R@2"], baseline="popular", conventions=pinned(clip=0.5), train=TRAIN
    )
    weights = [1, 2, math.sqrt(2), 1]
    effective = sum(weights) ** 2 / sum(w * w for w in weights)

    (warning,) = (each for each in comparison.warnings if each.code == "propensity")
    assert f"size of 4 relevant rows is {effective:.1f}, and" in warning.sentence
    assert f"the largest weight is {200 / sum(weights):.1f}" in warning.sentence
    assert "No interval covers errors of the propensities" in warning.sentence
    assert "bias that may turn the order of models" in warning.fix
    assert "; 1 weight is clipped" in warning.sentence
    assert comparison.conventions.values[-1].name == "propensity"


def test_dcg_and_ndcg_may_disagree() -> None:
    """`broad` finds two of many items for u, `narrow` the only one of v.

    DCG is 1 + 1 / log2(3) and 1; nDCG has the opposite order.
    """
    truth = {"u": dict.fromkeys("abcdefghij", 1), "v": {"z": 1}}
    lists = {"broad": {"u": ["a", "b"], "v": ["x"]}, "narrow": {"u": ["x"], "v": ["z"]}}
    how: dict[str, Any] = {"baseline": "broad", "conventions": "standard"}

    both = cc.compare(lists, truth, metrics=["nDCG@10", "DCG@10"], **how)
    one = cc.compare(lists, truth, metrics=["nDCG@10"], **how)

    (warning,) = (each for each in both.warnings if each.code == "dcg_disagrees")
    assert warning.sentence.startswith("nDCG@10 and DCG@10 rank broad and narrow differently")
    assert not [each for each in one.warnings if each.code == "dcg_disagrees"]


def test_sums_may_be_divided_by_the_weights_of_all_relevant_items() -> None:
    """Weights: 1 and 2 of u's a and c, 1 and sqrt(2) of v's a and b.

    c is at rank 1 for u, a for v. The grade of v's b is 2.
    """
    per_user, over_all = (
        cc.evaluate(
            RECS,
            TRUTH,
            metrics=["R@2", "CG@3", "RBP(p=0.5)@2"],
            conventions=pinned(normalised=how),
            train=TRAIN,
        )
        for how in ("per_user", "over_all")
    )
    root = math.sqrt(2)
    u, v = per_user.per_user.rows()

    assert u[1:] == pytest.approx((2 / 3, (2 + 1) / 3, 0.5 * 2 / 3))
    assert v[1:] == pytest.approx((1 / (1 + root), (1 + 2 * root) / (1 + root), 0.5 / (1 + root)))
    assert per_user["CG@3"] == pytest.approx((u[2] + v[2]) / 2)
    assert over_all["R@2"] == pytest.approx((2 + 1) / (3 + 1 + root))
    assert over_all["CG@3"] == pytest.approx((3 + 1 + 2 * root) / (4 + root))
    assert over_all["RBP(p=0.5)@2"] == pytest.approx(0.5 * (2 + 1) / (4 + root))
    assert over_all.per_user["#counts>=1"].to_list() == pytest.approx([3, 1 + root])


def jackknife(numerators: Sequence[float], divisors: Sequence[float]) -> tuple[float, float]:
    """Return a ratio of sums and its jackknife error.

    The error is the square root of (n - 1) / n · Σ (ratio without a user - ratio)².
    """
    n, ratio = len(numerators), sum(numerators) / sum(divisors)
    without_user = [
        (sum(numerators) - a) / (sum(divisors) - b)
        for a, b in zip(numerators, divisors, strict=True)
    ]
    return ratio, math.sqrt((n - 1) / n * sum((each - ratio) ** 2 for each in without_user))


def t_quantile(divisors: Sequence[float], squares: Sequence[float]) -> float:
    """Return the 97.5 % quantile of t on (tr Ω)² / tr Ω² degrees of freedom.

    Ω is the covariance matrix of the jackknife's errors.
    """
    b, q = np.array(divisors), np.array(squares)
    centred = np.diag(q) - (np.outer(q, b) + np.outer(b, q)) / b.sum()
    scale = np.outer(b.sum() - b, b.sum() - b)
    covariance = (centred + np.outer(b, b) * q.sum() / b.sum() ** 2) / scale
    return float(t.ppf(0.975, np.trace(covariance) ** 2 / np.sum(covariance * covariance)))


def _shop() -> tuple[dict[str, dict[str, list[str]]], dict[str, list[str]], pl.DataFrame]:
    """Return lists of two models, a truth, and a train with eight users of `a`, …, one of `h`."""
    rng = np.random.default_rng(11)
    lists: dict[str, dict[str, list[str]]] = {"one": {}, "other": {}}
    truth: dict[str, list[str]] = {}
    for number in range(40):
        user = f"u{number:02}"
        for each in lists.values():
            each[user] = rng.permutation(list(ITEMS))[:4].tolist()
        truth[user] = rng.permutation(list(ITEMS))[: rng.integers(1, 6)].tolist()
    counted = [(f"t{n}", item) for position, item in enumerate(ITEMS) for n in range(8 - position)]
    return lists, truth, pl.DataFrame(counted, ["user", "item"], orient="row")


def _sums(
    recs: Mapping[str, list[str]], truth: Mapping[str, list[str]]
) -> tuple[list[float], list[float]]:
    """Return each user's sums of the weights of hits and of relevant items.

    The exponent is 1, so that the weight of an item is 8 / its train users.
    """
    weight = {item: 8 / (8 - position) for position, item in enumerate(ITEMS)}
    above = [sum(weight[i] for i in truth[user] if i in recs[user]) for user in truth]
    return above, [sum(weight[i] for i in items) for items in truth.values()]


RATIO = pinned(popularity=1, normalised="over_all")


def test_the_interval_is_that_of_a_ratio() -> None:
    """The interval of the value and of the difference, in `evaluate`, `compare` and `plan`."""
    lists, truth, train = _shop()
    of_one, below = _sums(lists["one"], truth)
    of_other, _ = _sums(lists["other"], truth)
    results = {
        m: cc.evaluate(r, truth, metrics=["R@4"], conventions=RATIO, train=train)
        for m, r in lists.items()
    }
    compared = cc.compare(
        lists,
        truth,
        metrics=["R@4"],
        baseline="other",
        conventions=RATIO,
        train=train,
        wilcoxon=True,
    )

    ratio, error = jackknife(of_one, below)
    row = results["one"].to_frame().row(0, named=True)
    assert row["mean"] == pytest.approx(ratio)
    few = pytest.approx(t_quantile(below, [b * b for b in below]))  # users have most of the weight
    assert (row["ci_high"] - row["ci_low"]) / 2 / error == few
    assert 2.07 < t_quantile(below, [b * b for b in below]) < 2.09
    assert (row["n_users"], "n_requests" in row) == (40, False)
    score = compared.score("one", "R@4")
    assert (score.mean, score.ci_low, score.ci_high) == (row["mean"], row["ci_low"], row["ci_high"])

    gap, error = jackknife([a - b for a, b in zip(of_one, of_other, strict=True)], below)
    (pair,) = compared.pairs
    low, high, p, adjusted = map(or_nan, (pair.ci_low, pair.ci_high, pair.p, pair.p_adjusted))
    assert pair.difference == pytest.approx(gap)
    assert pair.difference == pytest.approx(results["one"]["R@4"] - results["other"]["R@4"])
    assert (high - low) / 2 / error == few
    assert p == pytest.approx(2 * t.sf(abs(gap / error), 21), rel=0.02)
    assert adjusted == p
    assert cc.plan(results, baseline="other").differences == cc.plan(compared).differences
    with pytest.raises(ValueError, match="pass the result of `evaluate` itself"):
        cc.plan({m: each.per_user for m, each in results.items()}, baseline="other")


def test_requests_of_a_user_are_one_in_the_interval() -> None:
    lists, truth, train = _shop()
    pairs = [(user, f"v{int(user[1:]) // 2}", user) for user in truth]
    recs, relevant = (
        pl.DataFrame(
            [(owner, s, item) for user, owner, s in pairs for item in items[user]],
            ["user", "session", "item"],
            orient="row",
        )
        for items in (lists["one"], truth)
    )
    recs = recs.with_columns(rank=pl.int_range(1, pl.len() + 1).over("session"))
    conventions = cc.preset(
        "standard", propensity=RATIO.as_dict()["propensity"], unit_mean="requests"
    )
    result = cc.evaluate(
        recs,
        relevant,
        metrics=["R@4"],
        conventions=conventions,
        train=train,
        unit=["user", "session"],
    )

    sums = _sums(lists["one"], truth)
    above, below = (np.add.reduceat(each, range(0, 40, 2)) for each in sums)
    squares = np.add.reduceat(np.square(sums[1]), range(0, 40, 2))
    ratio, error = jackknife(above.tolist(), below.tolist())
    row = result.to_frame().row(0, named=True)
    assert (row["mean"], row["n_users"], row["n_requests"]) == (pytest.approx(ratio), 20, 40)
    assert (row["ci_high"] - row["ci_low"]) / 2 / error == pytest.approx(
        t_quantile(below.tolist(), squares.tolist())
    )


def test_panel_has_the_unweighted_value_too() -> None:
    lists, truth, train = _shop()
    how: dict[str, Any] = {"metrics": ["R@4", "DCG@4"], "baseline": "other", "train": train}
    weighed = cc.compare(lists, truth, conventions=RATIO, **how)
    plain = cc.compare(lists, truth, conventions="standard", **how)

    (other,) = (each for each in weighed.panel[0].definitions if each.name == "unweighted")
    assert other.changed == {"propensity": None}
    assert other.values == plain.panel[0].definitions[0].values
    assert other.verdicts == plain.panel[0].definitions[0].verdicts
    assert other.values != weighed.panel[0].definitions[0].values
    assert "unweighted" not in {each.name for each in plain.panel[0].definitions}
    assert "unweighted" in weighed.to_html()


@pytest.mark.parametrize("table", ["train", "items"])
def test_segments_by_popularity_weigh_recall_too(table: str) -> None:
    """Head is a, middle is b, tail the rest; in each recall is by weights, user by user."""
    lists, truth, train = _shop()
    items = pl.DataFrame({"item": list(ITEMS), "p": [(8 - n) / 8 for n in range(len(ITEMS))]})
    how: dict[str, Any] = {"conventions": RATIO}
    if table == "items":
        how = {
            "conventions": cc.preset(
                "standard",
                propensity={"column": "items", "clip": 0.01, "fewest": 1, "normalised": "over_all"},
            ),
            "items": items,
            "columns": {"items": {"propensity": "p"}},
        }
    segments = {"popularity": {"by": "truth_item", "shares": [0.22, 0.4]}}
    comparison = cc.compare(
        lists, truth, metrics=["R@4"], baseline="other", train=train, segments=segments, **how
    )
    weight = {item: 8 / (8 - position) for position, item in enumerate(ITEMS)}
    tail = "cdefgh"
    shares = [
        sum(weight[i] for i in items if i in tail and i in lists["one"][user])
        / sum(weight[i] for i in items if i in tail)
        for user, items in truth.items()
        if {*items} & {*tail}
    ]

    (cell,) = (c for c in comparison.segments[0].cells if (c.segment, c.model) == ("tail", "one"))
    assert cell.mean == pytest.approx(fmean(shares))


def test_derivation_shows_weights_and_denominator() -> None:
    derivation = cc.explain(
        RECS, TRUTH, user="v", metric="CG@3", conventions=pinned(normalised="over_all"), train=TRAIN
    )

    assert tuple(derivation.summary.splitlines()[-4:]) == (
        "each counts 1 / propensity: rank 1 1, rank 3 1.41421",
        "CG = 1 + 2.82843",
        "divided by the weights of all relevant items: 1.41421 + 1 = 2.41421",
        "CG@3 = 1.58579",
    )


def test_folds_with_different_truths_cannot_be_one_ratio() -> None:
    lists, truth, train = _shop()
    less = {user: items[:1] for user, items in truth.items()}
    with pytest.raises(ValueError, match="normalised: is over_all, but a user's weight differs"):
        cc.compare(
            {m: {"replicates": {1: r, 2: r}} for m, r in lists.items()},
            {"replicates": {1: truth, 2: less}},
            metrics=["R@4"],
            baseline="other",
            conventions=RATIO,
            train=train,
            paired_replicates=True,
        )


def test_revisions_with_other_truths_or_conventions_cannot_be_one_ratio() -> None:
    now = pl.DataFrame({"user": ["u", "v"], "R@2": [0.5, 1.0], "#counts>=1": [3.0, 2.0]})
    then = {
        "same": now,
        "other": now.with_columns(pl.col("#counts>=1") + 1),
        "plain": now.drop("#counts>=1"),
    }
    (label,) = expand(["R"], [2])

    reported = {
        name: align({"now": [now], "then": [each]}).has_common_weights(label, RATIO)
        for name, each in then.items()
    }

    assert reported == {"same": True, "other": False, "plain": False}


def test_reconcile_reads_lists_and_truth_alone() -> None:
    with pytest.raises(ValueError, match="propensity: reads train or items"):
        cc.reconcile(RECS, TRUTH, value="0.5", metric="R@2", conventions=pinned())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 60 users with lists; nothing was observed of the last ten, nor of five without one."""
    rng = np.random.default_rng(3)
    p = np.linspace(1.0, 0.2, 40)
    users, item_indices = np.nonzero(rng.random((50, 40)) < 0.3 * p)
    train_users, had = np.nonzero(rng.random((60, 40)) < 0.4 * p)
    tables = {
        "truth": pl.DataFrame({"user": users, "item": item_indices, "seen": p[item_indices]}),
        "train": pl.DataFrame({"user": train_users, "item": had}),
        "users": pl.DataFrame({"user": np.arange(65), "tier": np.arange(65) % 3}),
    }
    for model, lean in (("popular", 1.0), ("niche", -1.0)):
        recommended = np.argsort(-(lean * p + rng.random((60, 40))), axis=1)[:, :10]
        rows = {
            "user": np.repeat(np.arange(60), 10),
            "item": recommended.ravel(),
            "rank": np.tile(np.arange(1, 11), 60),
        }
        tables[model] = pl.DataFrame(rows)
    changes = {
        "evaluation.metrics": ["P", "R", "DCG", "nDCG"],
        "evaluation.ks": [5],
        "comparison.baseline": "popular",
        "comparison.primary": ["nDCG@5"],
        "conventions.propensity": {"popularity": 0.5, "clip": 0.1, "fewest": 30},
    }
    return evaluated_project(tmp_path_factory.mktemp("propensity"), tables, changes)


@pytest.mark.whole
def test_stages_give_what_the_library_gives(project: Path) -> None:
    assert_library_gives_the_same(project)
    assert "inverse propensities" in (project / "results/report/report.html").read_text(
        encoding="utf-8"
    )
    explained = run(project, "concord", "explain", "4", "R@5", "--model", "popular")
    values = pl.read_parquet(project / "results/per_user/popular.parquet")
    assert f"R@5 = {values['R@5'][4]:.6g}" in explained
    assert values.height == 65
    assert values["P@5"].null_count() == 0
    assert values["R@5"].null_count() == 15


@pytest.mark.whole
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_engines_give_the_same_bits(project: Path, tmp_path: Path, engine: str) -> None:
    changes = {"evaluation.engine": engine, "evaluation.rows_per_partition": 150}
    assert_same_bits(project, tmp_path, changes, "popular", "niche")


@pytest.mark.whole
def test_the_truth_may_hold_them_and_all_be_one_ratio(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    inputs: PropensityOptions = {
        "column": "truth",
        "clip": 0.05,
        "fewest": 30,
        "normalised": "over_all",
    }
    changes = {
        "data.truth.columns": {"propensity": "seen"},
        "conventions.propensity": inputs,
        "evaluation.metrics": ["R", "DCG"],
        "comparison.primary": ["R@5"],
    }
    change_params(copy, changes)
    run_all_stages(copy, last="compare")

    assert_library_gives_the_same(copy)
    result = cc.evaluate(
        copy / "popular.parquet",
        copy / "truth.parquet",
        metrics=["R@5"],
        columns={"truth": {"propensity": "seen"}},
        conventions=cc.preset("standard", propensity=inputs),
        users=pl.read_parquet(copy / "users.parquet"),
    )
    values = pl.read_parquet(copy / "results/per_user/popular.parquet")
    assert values["R@5"].to_list() == result.per_user["R@5"].to_list()
    assert values["#counts>=1"].to_list() == result.per_user["#counts>=1"].to_list()
    assert json.loads((copy / "results/metrics/popular.json").read_text())["R@5"] == result["R@5"]
