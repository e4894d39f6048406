"""The convention `candidates`: values, unchanged parts, refusals, and the report."""

import re
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.data_conventions import CORRECTED_METRICS
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.evaluation.sampled_candidates import GAMMA, UNBIASED, correction_problem
from concord.metrics_core.metrics.catalogue import CATALOGUE as METRICS
from concord.metrics_core.metrics.label import Label, parse
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.results.stored import to_json
from tests.metrics_core.evaluation.sampled_data import (
    CATALOGUE,
    NEGATIVES,
    conventions,
    drawn,
    lists,
    truth,
)
from tests.metrics_core.evaluation.sampled_reference import corrected

RANKS = [1, 2, 3, 4, 5, 1]


def _f(by_rank: list[Fraction]) -> list[float]:
    """By the slow reference."""
    gamma = Fraction(GAMMA).limit_denominator(1000)
    return [float(f) for f in corrected(by_rank, NEGATIVES, gamma, catalogue=CATALOGUE)]


# M(R) of one relevant item at full rank R, by the definition of each metric.
BY_RANK = {
    "Hit@3": [Fraction(1)] * 3,
    "R@3": [Fraction(1)] * 3,
    "P@3": [Fraction(1, 3)] * 3,
    "F1@3": [Fraction(1, 2)] * 3,  # 2 × 1/3 × 1 / (1/3 + 1)
    "RR": [Fraction(1, r) for r in range(1, CATALOGUE + 1)],
    "RR@2": [Fraction(1), Fraction(1, 2)],
    "AP@3": [Fraction(1, r) for r in (1, 2, 3)],
    "Rprec": [Fraction(1)],
    "RBP(p=0.5)@3": [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)],
    "nDCG@1": [Fraction(1)],
}


def _evaluate(metrics: list[str], **changes: Any) -> pl.DataFrame:
    """Return the values of users with the wanted item at RANKS."""
    usual = {"recs": lists(RANKS), "truth": truth(len(RANKS)), "conventions": conventions()}
    options: dict[str, Any] = usual | changes
    return cc.evaluate(metrics=metrics, **options).per_user


@pytest.mark.parametrize("label", BY_RANK)
def test_a_user_s_value_is_that_of_the_sampled_rank(label: str) -> None:
    values = _f(BY_RANK[label])

    assert _evaluate([label])[label].to_list() == pytest.approx([values[r - 1] for r in RANKS])


def test_where_the_gain_differs_each_grade_has_values_of_its_own() -> None:
    values = _evaluate(["CG@2"], recs=lists([1, 1, 3, 3]), truth=truth(4, (1.0, 3.0)))["CG@2"]

    f = _f([Fraction(1)] * 2)
    assert values.to_list() == pytest.approx([f[0], 3 * f[0], f[2], 3 * f[2]])


@given(
    st.lists(st.integers(1, NEGATIVES + 1), min_size=2, max_size=5),
    st.randoms(use_true_random=False),
)
@settings(max_examples=5)
def test_values_are_those_of_each_user_alone_in_any_order(ranks: list[int], random: Random) -> None:
    labels = ["nDCG@3", "DCG@3", "RR"]
    recs, known = lists(ranks), truth(len(ranks), (1.0, 2.0))
    rows = list(range(len(recs)))
    random.shuffle(rows)

    together = _evaluate(labels, recs=recs[rows], truth=known)

    for user in known["user"]:
        mine = pl.col("user") == user
        alone = _evaluate(labels, recs=recs.filter(mine), truth=known.filter(mine))
        assert alone.equals(together.filter(mine))


def test_auc_is_not_touched_for_it_has_no_bias() -> None:
    assert _evaluate(["AUC"])["AUC"].to_list() == [1, 3 / 4, 2 / 4, 1 / 4, 0, 1]


def _values_of_own_conventions(metric: Metric) -> list[dict[str, str]]:
    """Return each value of each convention that the metric's function takes, one at a time."""
    own = [CONVENTION[name] for name in metric.conventions]
    changes = [{each.name: value} for each in own for value in each.values]
    return [c | {"gain": "binary"} if "full_k" in c.values() else c for c in changes] or [{}]


@pytest.mark.parametrize("name", CORRECTED_METRICS)
@pytest.mark.parametrize("cutoff", ["", "@2"])
def test_with_all_items_as_candidates_values_are_those_of_full_lists(
    name: str, cutoff: str
) -> None:
    (metric,) = (each for each in METRICS if each.name == name)
    ending = cutoff if metric.takes_k else ""
    parameters = ",".join(f"{each.name}={each.example}" for each in metric.parameters)
    label = f"{name}({parameters}){ending}" if parameters else f"{name}{ending}"
    for changed in _values_of_own_conventions(metric):
        whole = conventions(negatives=NEGATIVES, catalogue=NEGATIVES + 1, **changed)
        if correction_problem(parse(label), whole):
            continue
        plain = preset("standard", **changed)

        corrected_values, values = (
            _evaluate([label], conventions=each)[label].to_list() for each in (whole, plain)
        )

        assert corrected_values == pytest.approx(values), changed


def test_users_without_list_or_relevant_item_follow_their_policies() -> None:
    known = pl.concat([truth(3), pl.DataFrame({"user": ["u3"], "item": [0], "grade": [0.0]})])
    listed = lists([1, 2, 1, 2]).filter(pl.col("user") != "u2")

    values = _evaluate(["Hit@3"], recs=listed, truth=known)["Hit@3"]

    f = _f([Fraction(1)] * 3)
    assert values.to_list() == pytest.approx([f[0], f[1], 0, np.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        (["Bpref"], {}, "no correction for sampled candidates"),
        (["nDCG(judged_only=true)@3"], {}, "judged_only"),
        (["nDCG@3"], {"ties": "average"}, "leaves no rank to correct"),
        (["P@3"], {"precision_aggregate": "micro"}, "precision_aggregate: macro"),
        (["UserCoverage"], {}, "rank all items"),
        (["Coverage@3"], {}, "no correction for sampled candidates"),
    ],
)
def test_labels_without_a_correction_are_refused(
    metrics: list[str], options: dict[str, Any], message: str
) -> None:
    items = pl.DataFrame({"item": list(range(NEGATIVES + 1))})

    with pytest.raises(ValueError, match=message):
        _evaluate(metrics, items=items, conventions=conventions(**options))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_is_corrected_or_refused_or_free_of_bias(metric: Metric) -> None:
    label = Label(metric, None, tuple((name, 2.0) for name in metric.parameter_names))
    known = metric.name in (*CORRECTED_METRICS, UNBIASED)

    assert known == (correction_problem(label, conventions()) == "")
    uncorrected = metric.reads_judged or metric.reads_subtopics or metric.family == "beyond"
    assert known or uncorrected


@pytest.mark.parametrize(
    ("recs", "known", "message"),
    [
        (
            lists([1, 2]),
            pl.concat([truth(2), pl.DataFrame({"user": ["u1"], "item": [3], "grade": [1.0]})]),
            r"1 user\(s\) have more than one relevant item.*first: 'u1'",
        ),
        (
            lists([1, 2]).filter((pl.col("user") != "u1") | (pl.col("rank") < 5)),
            truth(2),
            r"1 user\(s\) have lists of another length: negatives: 4 .* 5 items.*first: 'u1'",
        ),
        (
            lists([1, 2]),
            truth(2).with_columns(item=pl.Series([0, 77])),
            r"1 user\(s\) have lists without their relevant item.*first: 'u1'",
        ),
    ],
)
def test_users_whose_rank_is_not_known_are_refused(
    recs: pl.DataFrame, known: pl.DataFrame, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        _evaluate(["nDCG@3"], recs=recs, truth=known)


@pytest.mark.parametrize(
    ("candidates", "key"),
    [
        ("uniform", "candidates"),
        ({"negatives": 4, "catalogue": 30}, "candidates.sampling"),
        ({"negatives": 0, "catalogue": 30, "sampling": "uniform"}, "candidates.negatives"),
        ({"negatives": 30, "catalogue": 30, "sampling": "uniform"}, "candidates.negatives"),
        ({"negatives": True, "catalogue": 30, "sampling": "uniform"}, "candidates.negatives"),
        ({"negatives": 4, "catalogue": 3.5, "sampling": "uniform"}, "candidates.catalogue"),
        ({"negatives": 4, "catalogue": "truth", "sampling": "uniform"}, "candidates.catalogue"),
        ({"negatives": 4, "catalogue": 30, "sampling": "popularity"}, "candidates.sampling"),
    ],
)
def test_invalid_candidates_are_refused(candidates: Any, key: str) -> None:
    with pytest.raises(cc.InputError) as refused:
        cc.preset("standard", candidates=candidates)

    assert [each.where for each in refused.value.problems] == [f"conventions.{key}"]


def test_conventions_without_candidates_are_what_they_were() -> None:
    standard = cc.preset("standard")

    assert "candidates" not in standard.as_dict()
    assert standard.fingerprint == "8b9f230525cc"
    assert Conventions.from_mapping(standard.as_dict()) == standard
    declaration = conventions()
    assert declaration.preset == "standard"
    assert declaration.fingerprint != standard.fingerprint
    assert Conventions.from_mapping(declaration.as_dict()) == declaration


ITEMS = pl.DataFrame({"item": range(CATALOGUE)})
SIDE_DATA = {
    "items": ITEMS,
    "train": pl.concat([ITEMS.with_columns(user=pl.lit(user)) for user in ("a", "b")]),
}


@pytest.mark.parametrize("role", ["items", "train"])
def test_the_size_of_a_table_gives_the_same_as_the_number(role: Literal["items", "train"]) -> None:
    known: dict[str, Any] = {"metrics": ["nDCG@3"], role: SIDE_DATA[role]}
    models = {"a": lists(RANKS), "b": lists(RANKS[::-1])}
    named = conventions(catalogue=role)

    of_number, of_name = (
        cc.compare(models, truth(6), baseline="b", resamples=99, conventions=each, **known)
        for each in (conventions(), named)
    )
    assert to_json(of_name) == to_json(of_number)
    evaluated = cc.evaluate(lists(RANKS), truth(6), conventions=named, **known)
    assert evaluated.conventions == conventions()
    known["metric"] = known.pop("metrics")[0]
    explained = cc.explain(lists(RANKS), truth(6), user="u1", conventions=named, **known)
    assert "among 4 of 29 others" in str(explained)


def test_a_table_that_is_missing_or_too_small_is_refused() -> None:
    evaluate = partial(cc.evaluate, lists(RANKS), truth(6), metrics=["nDCG@3"])

    with pytest.raises(cc.InputError) as missing:
        evaluate(conventions=conventions(catalogue="train"), items=ITEMS)
    with pytest.raises(cc.InputError) as small:
        evaluate(conventions=conventions(catalogue="items"), items=ITEMS.head(4))

    assert str(missing.value) == (
        "conventions.candidates.catalogue: is train, and `train` is not given\n"
        "  fix: give `train`, or write the number of items"
    )
    assert "candidates.negatives: 4 are not less than the 4 items of the catalogue" in str(
        small.value
    )


def test_reconcile_has_no_table_to_count() -> None:
    counted = conventions(catalogue="items")

    with pytest.raises(cc.InputError) as refused:
        cc.reconcile(lists(RANKS), truth(6), value="0.5", metric="R@2", conventions=counted)

    assert str(refused.value) == (
        "conventions.candidates.catalogue: reads train or items, but `reconcile` reads only lists "
        "and ground truth\n  fix: write the number of items"
    )


def test_explain_shows_how_the_value_came_about() -> None:
    f = _f([Fraction(1)] * 3)

    both = cc.explain(
        lists(RANKS),
        truth(6),
        user="u1",
        metric="Hit@3",
        conventions=conventions(),
        versus=cc.preset("standard"),
    )

    assert both.ours.value == pytest.approx(f[1])
    for words in (
        "2     0     1      hit     sampled rank 2 of 5",
        "among 4 of 29 others; uncorrected 1",
        f"f(1), f(2), … = {f[0]:.6g}, {f[1]:.6g}",
        "at full rank 30 (truly 0)",
        "Hit = f(2)",
    ):
        assert words in str(both.ours)
    assert both.theirs.value == 1
    assert both.path.decisive == ("candidates",)


def _compared(a: list[int], b: list[int], **how: Any) -> cc.results.Comparison:
    negatives, catalogue = how.pop("negatives"), how.pop("catalogue")
    return cc.compare(
        {"a": lists(a, negatives), "b": lists(b, negatives)},
        truth(len(a), how.pop("grades", (1.0,))),
        metrics=["nDCG@5", "DCG@5"],
        primary=how.pop("primary", ["nDCG@5"]),
        baseline="b",
        min_effect=0.0,
        conventions=conventions(negatives, catalogue),
    )


def test_an_order_that_many_negatives_tell_is_not_called_open() -> None:
    rng = np.random.default_rng(3)
    good, bad = rng.integers(1, 4, size=300), rng.integers(5, 9, size=300)

    few = _compared(drawn(good, 5, 100, 1), drawn(bad, 5, 100, 2), negatives=5, catalogue=100)
    many = _compared(drawn(good, 90, 100, 1), drawn(bad, 90, 100, 2), negatives=90, catalogue=100)

    assert "order_not_identifiable" in {each.code for each in few.warnings}
    assert {each.code for each in many.warnings} == {"sampled_corrected"}


def test_open_order_and_impossible_ranks_are_warnings() -> None:
    ranks = [1] * 200 + [11] * 200  # nothing between, and nothing below

    anywhere = np.random.default_rng(4).integers(1, 1_001, size=400)
    comparison = _compared(ranks, drawn(anywhere, 20, 1_000, 4), negatives=20, catalogue=1_000)

    warnings = {each.code: each for each in comparison.warnings}
    assert warnings["sampled_unfit"].models == ("a",)
    assert "gives the sampled ranks of a" in warnings["sampled_unfit"].sentence
    assert "order_not_identifiable" not in warnings


def test_users_without_a_list_count_in_the_bounds_as_in_the_mean() -> None:
    """a serves half of the users, and those well."""
    rng = np.random.default_rng(12)
    of_a, of_b = rng.integers(1, 6, size=200), rng.integers(1, 60, size=400)
    both = {"a": lists(drawn(of_a, 30, 300, 1), 30), "b": lists(drawn(of_b, 30, 300, 2), 30)}

    def ask(policy: Any) -> str:
        pinned = conventions(30, 300, user_no_recs=policy)
        comparison = cc.compare(
            both, truth(400), metrics=["R@50"], baseline="b", conventions=pinned
        )
        return next(
            (w.sentence for w in comparison.warnings if w.code == "order_not_identifiable"), ""
        )

    assert re.search(r"means of a 0\.4\d+ to 0\.5 and b", ask("zero"))
    assert re.search(r"means of a 0\.9\d+ to 1 and b", ask("drop"))


def test_ranks_of_requests_of_one_user_are_dependent() -> None:
    """Ten users with thirty requests each, all alike: bounds as of ten users."""
    full = np.random.default_rng(6).integers(1, 101, size=10)
    alone = conventions(40, 100)
    requests = conventions(40, 100, unit_mean="requests")
    of_users, of_requests = (
        [drawn(np.repeat(full, n), 40, 100, seed) for seed in (1, 2)] for n in (1, 30)
    )

    def spans(actual: cc.results.Comparison) -> list[float]:
        (sentence,) = [w.sentence for w in actual.warnings if w.code == "order_not_identifiable"]
        return [float(each) for each in re.findall(r"[ab] ([\d.]+) to ([\d.]+)", sentence)[0]]

    def split(frame: pl.DataFrame) -> pl.DataFrame:
        number = pl.col("user").str.slice(1).cast(pl.Int64)
        return frame.with_columns(
            pl.format("v{}", number // 30).alias("user"), (number % 30).alias("session")
        )

    how: dict[str, Any] = {"metrics": ["R@20"], "baseline": "b"}
    plain = cc.compare(
        {m: lists(r, 40) for m, r in zip("ab", of_users, strict=True)},
        truth(10),
        conventions=alone,
        **how,
    )
    models = {m: split(lists(r, 40)) for m, r in zip("ab", of_requests, strict=True)}
    comparison = cc.compare(
        models, split(truth(300)), conventions=requests, unit=["user", "session"], **how
    )

    low, high = spans(comparison)
    assert high - low > 0.5 * (spans(plain)[1] - spans(plain)[0])


def test_bounds_of_graded_gains_hold_for_each_grade() -> None:
    full = np.random.default_rng(5).integers(1, 60, size=300)
    comparison = _compared(
        drawn(full, 10, 100, 1),
        drawn(full, 10, 100, 2),
        negatives=10,
        catalogue=100,
        grades=(1.0, 3.0),
        primary=["nDCG@5", "DCG@5"],
    )

    open_orders = [each for each in comparison.warnings if each.code == "order_not_identifiable"]
    labels = [each.sentence.split(" at ")[1].split()[0] for each in open_orders]
    assert labels == ["nDCG@5", "DCG@5"]


def test_the_panel_corrects_every_definition_and_the_report_names_the_convention() -> None:
    comparison = _compared([1, 2, 3, 4, 5] * 20, [2, 3, 4, 5, 1] * 20, negatives=4, catalogue=30)

    (panel,) = comparison.panel
    assert len(panel.definitions) >= 1
    assert all((value or 1.0) < 0.5 for d in panel.definitions for value in d.values.values())
    convention = {each.name: each for each in comparison.conventions.values}["candidates"]
    assert convention.value == {"negatives": 4, "catalogue": 30, "sampling": "uniform"}
    assert convention.changes == ("DCG", "nDCG")
