"""Fairness of exposure, and gaps between groups of users.

Compared with values by hand, a reference in plain Python, fairlearn, and the stages.
"""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.results.exported_tables import export_tables
from concord.metrics_core.results.stored import to_json
from concord.typing import TableColumns
from tests.library import assert_library_gives_the_same, assert_same_bits, evaluated_project
from tests.parity.cases import groups
from tests.parity.measure import stored
from tests.project import run

ITEMS = pl.DataFrame({"item": list("abcdef"), "maker": ["x", "x", "x", "y", "y", None]})
COLUMNS: TableColumns = {"items": {"group": "maker"}}
RECS = {"u": ["a", "b", "d"], "v": ["e", "f"]}
TRUTH = {"u": ["a", "d"], "v": ["e"], "w": ["b"]}
SECOND = 1 / math.log2(3)
OVERALL = ["EED@2", "EER@2", "EEL@2"]


def pinned(target: Any | None = "catalogue", **options: Any) -> cc.metrics.Conventions:
    return cc.preset("standard", fairness_target=target, **options)


def evaluated(
    metrics: Sequence[str], conventions: cc.metrics.Conventions, **others: Any
) -> cc.results.Evaluation:
    how = {"items": ITEMS, "columns": COLUMNS, **others}
    return cc.evaluate(RECS, TRUTH, metrics=metrics, conventions=conventions, **how)


@pytest.mark.parametrize(
    ("target", "of_u", "of_v"),
    [
        # u shows x twice: shares 1, 0, 0.
        # v shows y, then an item without a group: 0, 1 / (1 + s), s / (1 + s).
        ("catalogue", (1 / 2, 2 / 6, 1 / 6), (1 / 2, 2 / 6, 1 / 6)),
        ("relevant", (1 / 2, 1 / 2, 0), (0, 1, 0)),
        ("uniform", (1 / 2, 1 / 2, 0), (1 / 2, 1 / 2, 0)),
    ],
)
def test_attention_by_hand(target: Any, of_u: tuple[float, ...], of_v: tuple[float, ...]) -> None:
    result = evaluated(["AWRF@2"], pinned(target)).per_user
    shares = [(1.0, 0.0, 0.0), (0.0, 1 / (1 + SECOND), SECOND / (1 + SECOND))]
    expected = [
        1 - sum(abs(a - t) for a, t in zip(recommended, targets, strict=True)) / 2
        for recommended, targets in zip(shares, (of_u, of_v), strict=True)
    ]

    assert result["AWRF@2"].to_list()[:2] == pytest.approx(expected)
    assert math.isnan(result["AWRF@2"][2])  # w has no list


def test_attention_follows_the_discount() -> None:
    """p = 0.5: v gives 1 / 1.5 to y and 0.5 / 1.5 to the item without a group."""
    conventions = pinned("uniform", overrides={"AWRF": {"discount": {"geometric": 0.5}}})

    result = evaluated(["AWRF@2", "nDCG@2"], conventions)

    assert result.per_user["AWRF@2"][1] == pytest.approx(1 - (1 / 2 + 2 / 3 - 1 / 2 + 1 / 3) / 2)
    assert result["nDCG@2"] == evaluated(["nDCG@2"], pinned())["nDCG@2"]


def test_expected_exposure_by_hand() -> None:
    """The attention to two ranks is 1 + s. u gives all to x; v gives 1 to y and s to no group.

    Ideal lists of u have a and d in either order: half of the attention to x and to y.
    Those of v have e first, then any of 3 items of x, 1 of y and 1 without a group. w has no list.
    """
    whole = 1 + SECOND
    e = ((1, 0, 0), (0, 1 / whole, SECOND / whole))
    t = (
        (1 / 2, 1 / 2, 0),
        (SECOND * 3 / 5 / whole, (1 + SECOND * 1 / 5) / whole, SECOND * 1 / 5 / whole),
    )
    result = evaluated(OVERALL, pinned(None))

    for row, of_user, ideal in zip(result.per_user.rows(), e, t, strict=False):
        pairs = list(zip(of_user, ideal, strict=True))
        assert row[1] == pytest.approx(sum(a * a for a in of_user))
        assert row[2] == pytest.approx(sum(a * b for a, b in pairs))
        assert row[3] == pytest.approx(sum((a - b) ** 2 for a, b in pairs))
        assert sum(ideal) == pytest.approx(1)
    assert result["EEL@2"] == pytest.approx(fmean(result.per_user["EEL@2"].to_list()[:2]))
    assert result.to_frame()["n_users"].to_list() == [2, 2, 2]
    assert result.to_frame()["n_undefined"].to_list() == [1, 1, 1]


CATALOGUE = "abcde"


def reference(
    lists: Mapping[str, str],
    relevant: Mapping[str, set[str]],
    maker: Mapping[str, str],
    k: int,
    p: float,
) -> tuple[dict[str, dict[str, float]], dict[str, tuple[float, float, float]]]:
    """Return AWRF of each user by target, and EED, EER and EEL from all ideal lists."""
    groups, attention = sorted(set(maker.values())), [p**i for i in range(k)]

    def shares(recommended: Sequence[str]) -> dict[str, float]:
        exposure = dict.fromkeys(groups, 0.0)
        for weight, item in zip(attention, recommended, strict=False):
            exposure[maker[item]] += weight
        return exposure

    awrf: dict[str, dict[str, float]] = {}
    for user, items in lists.items():
        actual = shares(items)
        targets = {"catalogue": CATALOGUE, "uniform": "", "relevant": relevant[user]}
        awrf[user] = {}
        for name, target in targets.items():
            n = len(target) or len(groups)
            aim = {g: sum(maker[i] == g for i in target) / n if target else 1 / n for g in groups}
            separate = sum(abs(actual[g] / sum(actual.values()) - aim[g]) for g in groups)
            awrf[user][name] = 1 - separate / 2
    exposed = {}
    for user, items in lists.items():
        e = {g: share / sum(attention) for g, share in shares(items).items()}
        liked, ideal = relevant[user], dict.fromkeys(groups, 0.0)
        best = [order for order in permutations(CATALOGUE) if set(order[: len(liked)]) == liked]
        for order in best:
            for g, weight in shares(order).items():
                ideal[g] += weight / len(best) / sum(attention)
        disparity = sum(e[g] ** 2 for g in groups)
        relevance = sum(e[g] * ideal[g] for g in groups)
        exposed[user] = (disparity, relevance, sum((e[g] - ideal[g]) ** 2 for g in groups))
    return awrf, exposed


@given(
    lists=st.lists(st.permutations(CATALOGUE).map("".join), min_size=1, max_size=4),
    relevant=st.lists(st.sets(st.sampled_from(CATALOGUE), min_size=1), min_size=5, max_size=5),
    makers=st.lists(st.sampled_from("xyz"), min_size=5, max_size=5),
    length=st.integers(1, 5),
    k=st.integers(1, 5),
    target=st.sampled_from(["catalogue", "relevant", "uniform"]),
)
def test_against_plain_python(  # noqa: PLR0917
    lists: list[str],
    relevant: list[set[str]],
    makers: list[str],
    length: int,
    k: int,
    target: Any,
) -> None:
    maker = dict(zip(CATALOGUE, makers, strict=True))
    recommended = {f"u{n}": each[:length] for n, each in enumerate(lists)}
    liked = {f"u{n}": each for n, each in enumerate(relevant)}
    awrf, exposed = reference(recommended, liked, maker, k, 0.8)

    result = cc.evaluate(
        {user: list(each) for user, each in recommended.items()},
        {user: list(each) for user, each in liked.items()},
        metrics=[f"{name}@{k}" for name in ("AWRF", "EED", "EER", "EEL")],
        conventions=pinned(target, discount={"geometric": 0.8}, preset="custom"),
        items=pl.DataFrame({"item": list(maker), "maker": makers}),
        columns=COLUMNS,
    )

    values = {user: row for user, *row in result.per_user.iter_rows()}
    assert all(0 <= values[user][0] <= 1 for user in awrf)
    for user, items in awrf.items():
        assert values[user] == pytest.approx([items[target], *exposed[user]], abs=1e-12)
    assert all(
        math.isnan(value) for user in liked.keys() - recommended.keys() for value in values[user]
    )


@pytest.mark.parametrize(
    ("metric", "settings", "inputs", "message"),
    [
        (
            "AWRF@2",
            {"fairness_target": None},
            {},
            "AWRF@2: needs the share that each group should have. Set the convention",
        ),
        ("AWRF@2", {}, {"columns": {}}, "AWRF@2: needs items with the column `group` named"),
        (
            "EEL@2",
            {},
            {"items": None, "columns": {}},
            "EEL@2: needs items with the column `group` named",
        ),
        ("EEL", {}, {}, "EEL needs a cutoff, such as EEL@10"),
        (
            "EEL@2",
            {"propensity": {"popularity": 0.5, "clip": 0.1, "fewest": 1}},
            {"train": TRUTH},
            "EEL@2: `propensity` weights sums over hits",
        ),
        (
            "AWRF@2",
            {},
            {"items": ITEMS.with_columns(maker=pl.lit(None, pl.String))},
            "is empty for every item",
        ),
        (
            "AWRF@2",
            {},
            {"items": ITEMS.with_columns(maker=pl.concat_list("maker"))},
            "write one text for each item",
        ),
    ],
)
def test_metric_without_its_group_data_is_refused(
    metric: str, settings: dict[str, Any], inputs: dict[str, Any], message: str
) -> None:
    conventions = cc.preset("standard", **{"fairness_target": "relevant", **settings})

    with pytest.raises(ValueError, match=r"\w") as refused:
        evaluated([metric], conventions, **inputs)

    assert message in str(refused.value)


def test_too_many_groups_are_refused() -> None:
    items = pl.DataFrame(
        {"item": [f"i{n}" for n in range(102)], "maker": [f"m{n}" for n in range(102)]}
    )

    with pytest.raises(
        ValueError, match="has 102 different values, but at most 100 groups are allowed"
    ):
        evaluated(["AWRF@2"], pinned(), items=items)


def test_unset_convention_changes_no_fingerprint() -> None:
    standard = cc.preset("standard")

    assert "fairness_target" not in standard.as_dict()
    assert standard.fingerprint == "8b9f230525cc"
    assert pinned().as_dict()["fairness_target"] == "catalogue"
    assert pinned().fingerprint != standard.fingerprint
    with pytest.raises(ValueError, match=r"fairness_target: is 'even'"):
        pinned("even")


def test_a_derivation_shows_the_arithmetic() -> None:
    derivation = cc.explain(
        RECS, TRUTH, user="v", metric="AWRF@2", conventions=pinned(), items=ITEMS, columns=COLUMNS
    )

    assert [row.term for row in derivation.listed] == ["y: 1", "without a group: 0.63093"]
    assert derivation.sums == (
        "x: 0 / 1.63093 = 0 of the attention; target 0.5  (catalogue)",
        "y: 1 / 1.63093 = 0.613147 of the attention; target 0.333333  (catalogue)",
        "without a group: 0.63093 / 1.63093 = 0.386853 of the attention; "
        "target 0.166667  (catalogue)",
        "AWRF = 1 - (|0 - 0.5| + |0.613147 - 0.333333| + |0.386853 - 0.166667|) / 2",
    )
    assert derivation.value == evaluated(["AWRF@2"], pinned()).per_user["AWRF@2"][1]
    with pytest.raises(ValueError, match="explain covers metrics of lists and truth; ILD reads"):
        cc.explain(RECS, TRUTH, user="v", metric="ILD@2", conventions=pinned())


def test_a_derivation_shows_the_exposure_of_groups() -> None:
    """Ideal lists of v: e first, then any of 3 x, 1 y, 1 without a group."""
    how: dict[str, Any] = {
        "user": "v",
        "conventions": pinned(None),
        "items": ITEMS,
        "columns": COLUMNS,
    }
    derivation = cc.explain(RECS, TRUTH, metric="EEL@2", **how)

    assert [row.term for row in derivation.listed] == ["y: 1", "without a group: 0.63093"]
    assert derivation.sums == (
        "a top 2 can give 1.63093 of attention",
        "x: e = 0, in ideal lists t = 0.232112",
        "y: e = 0.613147, in ideal lists t = 0.690518",
        "without a group: e = 0.386853, in ideal lists t = 0.0773706",
        "EEL = (0 - 0.232112)^2 + (0.613147 - 0.690518)^2 + (0.386853 - 0.0773706)^2",
    )
    assert derivation.value == evaluated(["EEL@2"], pinned(None)).per_user["EEL@2"][1]
    assert "= 0.613147 × 0.690518" not in cc.explain(RECS, TRUTH, metric="EED@2", **how).sums[-1]
    undefined = cc.explain(RECS, TRUTH, metric="EER@2", **{**how, "user": "w"})
    assert undefined.sums == ("undefined: no list, or no relevant item in the catalogue",)


def shop(n_users: int = 60) -> dict[str, Any]:
    """Lists of two models; users with a list and nothing wanted, and the other way round."""
    rng = np.random.default_rng(5)
    ids = [f"i{n:02}" for n in range(30)]
    popular = np.arange(30, 0, -1) / 465
    return {
        "items": pl.DataFrame({"item": ids, "maker": ["x"] * 12 + ["y"] * 15 + [None] * 3}),
        "truth": {
            f"u{n:02}": list(rng.choice(ids, rng.integers(1, 6), replace=False))
            for n in range(n_users)
        },
        "models": {
            name: {
                f"u{n:02}": list(rng.choice(ids, 8, replace=False, p=p))
                for n in range(4, n_users + 6)
            }
            for name, p in (("even", None), ("popular", popular))
        },
    }


LABELS = ["AWRF@5", "EED@5", "EER@5", "EEL@5", "Coverage@5"]


def test_a_comparison_tests_what_evaluate_says() -> None:
    data = shop()
    how: dict[str, Any] = {"items": data["items"], "columns": COLUMNS, "conventions": pinned()}

    comparison = cc.compare(
        data["models"], data["truth"], metrics=LABELS, baseline="even", resamples=199, **how
    )

    alone = {
        m: cc.evaluate(lists, data["truth"], metrics=LABELS, **how)
        for m, lists in data["models"].items()
    }
    tested = {pair.label: pair for pair in comparison.pairs}
    for label in LABELS:
        gap = alone["popular"][label] - alone["even"][label]
        assert tested[label].difference == pytest.approx(gap, abs=1e-14)
    assert tested["Coverage@5"].test == "swap"
    assert tested["EEL@5"].test == "t"
    assert tested["EEL@5"].n_users == 56
    assert tested["AWRF@5"].test == "t"
    assert tested["EEL@5"].ci_low is not None
    convention = comparison.conventions.values[-1]
    assert (convention.name, convention.value, convention.changes) == (
        "fairness_target",
        "catalogue",
        ("AWRF",),
    )


def segmented(*, compare_gaps: bool = True) -> tuple[cc.results.Comparison, dict[str, Any]]:
    """Return a comparison of two models and three groups of users; the last group is too small."""
    even, leaning = groups()
    tiers = [*even["groups"], *["few"] * 10]
    users = pl.DataFrame({"user": [f"u{i:03}" for i in range(len(tiers))], "tier": tiers})
    hits = {
        "even": [*map(bool, even["values"]), *[True] * 10],
        "leaning": [*map(bool, leaning["values"]), *[False] * 10],
    }
    models = {
        m: {u: (["good"] if hit else ["bad"]) for u, hit in zip(users["user"], items, strict=True)}
        for m, items in hits.items()
    }
    comparison = cc.compare(
        models,
        {user: ["good"] for user in users["user"]},
        metrics=["P@1"],
        baseline="even",
        conventions="standard",
        users=users,
        segments={"tier": {"by": "user", "column": "tier", "compare_gaps": compare_gaps}},
        resamples=499,
    )
    return comparison, {"tier": users["tier"].to_list(), **hits}


def test_gaps_are_those_of_the_groups_means() -> None:
    result, data = segmented()
    even, leaning = result.segments[0].gaps
    means = {
        m: {
            tier: fmean(hit for hit, t in zip(data[m], data["tier"], strict=True) if t == tier)
            for tier in ("old", "new")
        }
        for m in ("even", "leaning")
    }

    assert (leaning.low_segment, leaning.high_segment) == ("new", "old")
    assert leaning.ratio == pytest.approx(means["leaning"]["new"] / means["leaning"]["old"])
    assert leaning.gap == pytest.approx(means["leaning"]["old"] - means["leaning"]["new"])
    assert leaning.difference == leaning.gap - even.gap
    assert leaning.diff_low is not None
    assert leaning.diff_low < leaning.difference < (leaning.diff_high or 0)
    assert leaning.p == 2 * 1 / 500  # no resample turns it
    assert leaning.p_adjusted == leaning.p
    assert (even.difference, even.p) == (None, None)
    assert even.ratio == pytest.approx(min(means["even"].values()) / max(means["even"].values()))


def test_groups_that_are_alike_are_two_groups() -> None:
    """Both groups hit half of the time; the interval of their gap is as wide as that of a gap."""
    users = pl.DataFrame({"user": [f"u{i:02}" for i in range(80)], "tier": ["old", "new"] * 40})
    lists = {
        user: (["good"] if position % 4 < 2 else ["bad"])
        for position, user in enumerate(users["user"])
    }
    comparison = cc.compare(
        {"a": lists, "b": lists},
        {user: ["good"] for user in lists},
        metrics=["P@1"],
        baseline="a",
        conventions="standard",
        users=users,
        segments={"tier": {"by": "user", "column": "tier"}},
    )

    for gap in comparison.segments[0].gaps:
        assert (gap.gap, {gap.low_segment, gap.high_segment}) == (0.0, {"old", "new"})
        assert gap.ci_low is not None
        assert gap.ci_low < -0.1


def test_few_requests_that_differ_give_no_p() -> None:
    """Three of sixty users have other lists: the means of both groups differ."""
    rows = [(f"u{u:02}", s) for u in range(60) for s in range(1 + u % 3)]
    truth = pl.DataFrame(
        [(u, s, "good") for u, s in rows], ["user", "session", "item"], orient="row"
    )
    a = [(u, s, "good" if s else "bad") for u, s in rows]
    b = [(u, s, "good" if s or u < "u03" else "bad") for u, s in rows]
    models = {
        m: pl.DataFrame(each, ["user", "session", "item"], orient="row").with_columns(rank=1)
        for m, each in (("a", a), ("b", b))
    }
    users = pl.DataFrame({"user": [f"u{i:02}" for i in range(60)], "tier": ["old", "new"] * 30})
    comparison = cc.compare(
        models,
        truth,
        metrics=["P@1"],
        baseline="a",
        conventions=cc.preset("standard", unit_mean="requests"),
        unit=["user", "session"],
        users=users,
        segments={"tier": {"by": "user", "column": "tier", "compare_gaps": True}},
    )

    assert [gap.p for gap in comparison.segments[0].gaps] == [None, None]
    assert comparison.segments[0].gaps[1].difference != 0


def test_gaps_that_are_not_compared_are_as_before() -> None:
    requested, _ = segmented()
    plain, _ = segmented(compare_gaps=False)

    assert set(json.loads(to_json(plain))["segments"][0]["gaps"][1]) == {
        "label",
        "model",
        "low_segment",
        "high_segment",
        "gap",
        "ci_low",
        "ci_high",
        "n_segments",
    }
    assert "difference" not in export_tables(plain)["gaps"].columns
    assert export_tables(requested)["gaps"]["p_adjusted"].to_list() == [None, 2 / 500]
    assert [vars(gap)["gap"] for gap in plain.segments[0].gaps] == [
        gap.gap for gap in requested.segments[0].gaps
    ]
    with pytest.raises(ValueError, match=r"segments\.tier"):
        cc.compare(
            {"a": RECS, "b": RECS},
            TRUTH,
            metrics=["P@1"],
            baseline="a",
            conventions="standard",
            train=TRUTH,
            segments={"tier": {"by": "activity", "edges": [1], "compare_gaps": "yes"}},
        )


def test_gaps_are_those_of_fairlearn() -> None:
    """Its MetricFrame knows no smallest size of a group, so the small one is left out."""
    result, _ = segmented()
    values = stored("fairlearn").select("case", "label", "user", "value").rows()
    expected = {tuple(key): value for *key, value in values}
    cells = {
        (c.model, "mean", c.segment): c.mean for c in result.segments[0].cells if c.segment != "few"
    }
    gaps = {(gap.model, "difference", None): gap.gap for gap in result.segments[0].gaps}
    ratios = {(gap.model, "ratio", None): gap.ratio for gap in result.segments[0].gaps}

    assert cells | gaps | ratios == pytest.approx(expected)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = shop(80)
    judged = [(u, i) for u, items in data["truth"].items() for i in items]
    tables = {
        "items": data["items"],
        "users": pl.DataFrame({"user": list(data["truth"]), "tier": ["old", "new"] * 40}),
        "truth": pl.DataFrame(judged, ["user", "item"], orient="row"),
    }
    for name, lists in data["models"].items():
        rows = [(u, i, r) for u, items in lists.items() for r, i in enumerate(items, 1)]
        tables[name] = pl.DataFrame(rows, ["user", "item", "rank"], orient="row")
    changes = {
        "background.items.columns": {"group": "maker"},
        "evaluation.metrics": ["nDCG", "AWRF", "EED", "EER", "EEL"],
        "evaluation.ks": [5],
        "evaluation.rows_per_partition": 150,
        "comparison.baseline": "even",
        "comparison.primary": ["nDCG@5", "AWRF@5", "EEL@5"],
        "segments": {"tier": {"by": "user", "column": "tier", "compare_gaps": True}},
        "conventions.fairness_target": "catalogue",
    }
    return evaluated_project(tmp_path_factory.mktemp("fairness"), tables, changes)


@pytest.mark.whole
def test_stages_give_what_the_library_gives(project: Path) -> None:
    assert_library_gives_the_same(project)
    report = (project / "results/report/report.html").read_text(encoding="utf-8")
    assert "Gap against even" in report
    assert "fairness_target" in report
    explained = run(project, "concord", "explain", "u07", "AWRF@5", "--model", "popular")
    values = pl.read_parquet(project / "results/per_user/popular.parquet")
    assert f"AWRF@5 = {dict(values.select('user', 'AWRF@5').iter_rows())['u07']:.6g}" in explained


@pytest.mark.whole
def test_all_users_at_once_give_the_bits_of_ranges(project: Path, tmp_path: Path) -> None:
    assert_same_bits(project, tmp_path, {"evaluation.engine": "polars"}, "even", "popular")
