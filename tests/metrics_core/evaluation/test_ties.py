"""Values in other orders of equal scores, against all orders of the tied items in plain Python."""

import math
import random
from collections.abc import Iterator, Mapping
from itertools import groupby, permutations, product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.data.arguments import check_columns
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.data.tables import read_frame
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.dataset import TableLoader, load_dataset
from concord.metrics_core.evaluation.evaluate import parse_labels
from concord.metrics_core.evaluation.executors import execute_by_ranges, execute_in_memory
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.evaluation.score import definition_problem
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.label import parse
from concord.pipeline.running.connections import read_only_connection
from tests.metrics_core.metrics.reference import value

Lists = Mapping[int, Mapping[int, float]]
PARAMETERS = {"RBP": {"p": 0.8}, "Q": {"beta": 1.0}, "O": {"beta": 1.0}, "HLU": {"halflife": 5.0}}
NAMES: tuple[str, ...] = (
    "P",
    "R",
    "F1",
    "Hit",
    "AP",
    "RR",
    "CG",
    "DCG",
    "nDCG",
    "Rprec",
    "RBP",
    "ERR",
    "nERR",
)
NAMES += ("Q", "O", "Bpref", "AUC")
KS = (1, 3, 5)
# Conventions under which a hit at an earlier rank never lowers a value.
MONOTONE: tuple[dict[str, Any], ...] = (
    {},
    {"ties": "item_desc"},
    {"ties": "item_text_asc", "score_dtype": "float32"},
    {"gain": "exp2", "discount": {"jk": 2}, "ap_denominator": "relevant", "relevance_threshold": 2},
    {"gain": "binary", "precision_denominator": "len", "user_no_recs": "drop"},
)
OTHERS: tuple[dict[str, Any], ...] = (
    {"ap_denominator": "hits"},
    {"ideal": "retrieved_at_k"},
)


def result_of(
    lists: Any, truth: Any, labels: list[str], policies: Any = None, **conventions: Any
) -> ModelResult:
    config = EvaluationConfig.of_one_model(
        parse_labels(labels), cc.preset("standard", **conventions)
    )
    loader = TableLoader(config, parse_policies(policies or {}), check_columns({}))
    return load_dataset(loader, {NO_FOLD: truth}, {}).evaluate("model", lists)


def ties_of(*arguments: Any, **conventions: Any) -> dict[str, Any]:
    ties: dict[str, Any] = result_of(*arguments, **conventions).summary.get("ties", {})
    return ties


def _world(seed: int) -> tuple[dict[int, dict[int, float]], dict[int, dict[str | int, float]]]:
    """Six users with lists of seven items, three scores of which two are equal in float32."""
    rng = random.Random(seed)
    scores = (0.1, 0.1 + 1e-10, 0.7)
    lists = {
        user: {item: rng.choice(scores) for item in rng.sample(range(30), 7)} for user in range(6)
    }
    truth: dict[int, dict[str | int, float]] = {
        user: {item: float(rng.randint(0, 3)) for item in rng.sample([*items, *range(30, 33)], 5)}
        | {40: 1.0}
        for user, items in lists.items()
    }
    return lists, truth


def _labels() -> Iterator[tuple[str, tuple[str, int | None, dict[str, float]]]]:
    for name in NAMES:
        own = PARAMETERS.get(name, {})
        texts = [f"{parameter}={number:g}" for parameter, number in own.items()]
        stem = f"{name}({','.join(texts)})" if own else name
        for k in (None,) if name in {"Rprec", "AUC"} else KS:
            yield str(parse(stem if k is None else f"{stem}@{k}")), (name, k, own)


def _orders(scores: Mapping[int, float], *, single: bool) -> Iterator[list[int]]:
    def key(item: int) -> float:
        return round(scores[item], 6) if single else scores[item]

    ordered = sorted(scores, key=lambda item: -key(item))
    groups = [list(permutations(group)) for _, group in groupby(ordered, key)]
    for chosen in product(*groups):
        yield [item for group in chosen for item in group]


@pytest.mark.parametrize("number", range(len(MONOTONE) + len(OTHERS)))
def test_ends_and_average_are_those_of_all_orders(number: int) -> None:
    changes = [*MONOTONE, *OTHERS][number]
    conventions = cc.preset("standard", **changes)
    lists, truth = _world(number)
    labels = dict(_labels())
    result = result_of(lists, truth, [*labels], **changes)
    values = read_frame(result.values)
    n_checked = n_averaged = 0
    for label in result.summary["metrics"]:
        name, k, own = labels[label]
        ends: dict[int, tuple[float, float, float]] = {}
        for user, scores in lists.items():
            orders = _orders(scores, single=conventions.score_dtype == "float32")
            of_user = [value(name, o, truth[user], k, conventions, **own) for o in orders]
            numbers = [float(each) for each in of_user if each is not None]
            ends[user] = min(numbers), max(numbers), math.fsum(numbers) / len(numbers)
        for user, low, high, average in values.select(
            "user", *(f"#{kind}:{label}" for kind in ("low", "high", "average"))
        ).rows():
            least, most, mean = ends[user]
            pinned = values.filter(pl.col("user") == user)[label].item()
            if changes in MONOTONE:
                assert (low is not None) == (most - least > 1e-12)
                if low is not None:
                    assert (low, high) == (pytest.approx(least), pytest.approx(most))
            elif low is not None:
                assert least - 1e-12 <= low <= pinned <= high <= most + 1e-12
            has_expectation = not definition_problem(
                parse(label), cc.preset("standard", **{**changes, "ties": "average"})
            )
            assert (average is not None) == (low is not None and has_expectation)
            if average is not None:
                assert average == pytest.approx(mean)
                n_averaged += 1
            n_checked += low is not None
    assert n_checked > 100
    assert n_averaged > 60
    for label, ties in result.summary["ties"].items():
        low = values.select(pl.coalesce(f"#low:{label}", label).mean()).item()
        assert ties["low"] == pytest.approx(low)
        assert ties["n_users"] == values[f"#low:{label}"].count()


# 1 and 2 tie, and 1 is relevant: RR is 1 by id, 1/2 in the worst order, 3/4 on average.
ONE_TIE: Lists = {1: {1: 0.5, 2: 0.5, 3: 0.1}, 2: {1: 0.9, 2: 0.8}}
ONE_TRUTH = {1: [1], 2: [2]}


def test_means_are_over_all_users() -> None:
    """User 2 has no tie: (1 + 1/2) / 2 as pinned and at best, (1/2 + 1/2) / 2 at worst."""
    result = result_of(ONE_TIE, ONE_TRUTH, ["RR"])

    ties = {"low": 0.5, "high": 0.75, "average": (0.75 + 0.5) / 2, "n_users": 1}
    assert result.summary["ties"] == {"RR": ties}
    assert read_frame(result.values)["#average:RR"].to_list() == [0.75, None]


@pytest.mark.parametrize("ties", ["item_asc", "item_desc"])
def test_the_ends_do_not_depend_on_the_order_of_ids(ties: Any) -> None:
    expected = {"low": 0.5, "high": 0.75, "average": 0.625, "n_users": 1}
    assert ties_of(ONE_TIE, ONE_TRUTH, ["RR"], ties=ties)["RR"] == expected


@pytest.mark.parametrize("ties", ["given", "input", "average"])
def test_an_order_that_the_user_chose_has_no_range(ties: Any) -> None:
    result = result_of(ONE_TIE, ONE_TRUTH, ["RR"], ties=ties)

    assert "ties" not in result.summary
    assert read_frame(result.values).columns == ["user", "RR"]


def test_ranks_have_no_range_whatever_the_scores() -> None:
    lists = pl.DataFrame({"user": 1, "item": [2, 1], "rank": [1, 2], "score": 0.5})
    assert ties_of(lists, {1: [1]}, ["RR"]) == {}
    assert "low" in ties_of(lists.drop("rank"), {1: [1]}, ["RR"])["RR"]


@pytest.mark.parametrize(
    ("lists", "label"),
    [
        ({1: {1: 0.9, 2: 0.5, 3: 0.5}}, "RR"),  # a tie of irrelevant items
        ({1: {2: 0.9, 3: 0.8, 1: 0.5, 4: 0.5}}, "RR@2"),  # below the cutoff
        ({1: {1: 0.9, 2: 0.8}}, "RR"),  # no tie
        ({1: {1: 0.5, 5: 0.5}}, "RR"),  # both are relevant
    ],
)
def test_a_tie_that_cannot_change_the_value_has_no_range(lists: Lists, label: str) -> None:
    assert ties_of(lists, {1: [1, 5]}, [label]) == {}


def test_only_labels_whose_own_ranking_orders_ties_by_id_have_a_range() -> None:
    labels = ["RR", "P@1"]
    assert ties_of(ONE_TIE, ONE_TRUTH, labels, overrides={"RR": {"ties": "average"}}).keys() == {
        "P@1"
    }
    ties = ties_of(
        ONE_TIE, ONE_TRUTH, labels, ties="average", overrides={"RR": {"ties": "item_asc"}}
    )
    assert ties.keys() == {"RR"}
    single = {"RR": {"score_dtype": "float32"}}  # only RR compares in single precision
    lists = {1: {1: 0.5, 2: 0.5 + 1e-10}}
    assert ties_of(lists, {1: [1]}, labels, overrides=single).keys() == {"RR"}


def test_scores_that_are_nan_tie_if_they_come_last() -> None:
    lists = {1: {1: float("nan"), 2: float("nan")}}
    assert ties_of(lists, {1: [1]}, ["RR"], {"nan_score": "last"})["RR"]["low"] == 0.5


def test_labels_that_are_no_accuracy_have_no_range() -> None:
    lists = {user: {1: 0.5, 2: 0.5} for user in (1, 2)}
    labels = ["Kendall", "RR"]
    assert ties_of(lists, {1: {1: 2, 2: 1}, 2: {2: 1}}, labels).keys() == {"RR"}


def test_ranges_of_users_give_the_same_bits(tmp_path: Path) -> None:
    rng = random.Random(5)
    rows = [
        {"user": user, "item": item, "score": round(rng.random(), 1)}
        for user in range(200)
        for item in rng.sample(range(60), 12)
    ]
    lists = pl.DataFrame(rows).sort("user", -pl.col("score"), "item")
    lists = lists.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    lists.write_parquet(tmp_path / "lists.parquet", row_group_size=200)
    truth = pl.DataFrame(
        {"user": user, "item": item, "grade": float(rng.randint(1, 3))}
        for user in range(200)
        for item in rng.sample(range(60), 6)
    )
    truth.write_parquet(tmp_path / "truth.parquet")
    labels = parse_labels(["RR@5", "nDCG@10", "AP"])
    task = Task(labels, cc.preset("standard"), has_equal_scores=True)
    data = EvaluationData(truth=tmp_path / "truth.parquet", connect=read_only_connection)
    file = tmp_path / "lists.parquet"
    (whole,) = (part.values for part in execute_in_memory(file, data, task))
    parts = [part.values for part in execute_by_ranges(file, data, task, 500)]

    assert len(parts) > 3
    assert pl.concat(parts).equals(whole)
    assert whole["#low:nDCG@10"].count() > 100


CONSTANT: Lists = {1: {1: 0.5, 2: 0.5}, 2: {1: 0.5, 2: 0.5, 3: 0.5}, 3: {1: 0.5}, 4: {1: 2, 2: 1}}


def test_constant_scores_are_counted_in_lists_of_several_items() -> None:
    counts = result_of(CONSTANT, {user: [1] for user in CONSTANT}, ["RR"]).full_lists

    assert (counts["constant"], counts["of_several"]) == (2, 3)
    assert "constant" not in result_of(ONE_TIE, ONE_TRUTH, ["RR"]).full_lists


def test_scores_that_are_equal_in_single_precision_are_constant() -> None:
    lists = {1: {1: 0.5, 2: 0.5 + 1e-10}}
    single = result_of(lists, {1: [1]}, ["RR"], score_dtype="float32").full_lists
    assert (single["constant"], single["of_several"]) == (1, 1)
    assert "constant" not in result_of(lists, {1: [1]}, ["RR"]).full_lists


def test_the_average_is_the_mean_of_evaluate_also_over_requests_of_users() -> None:
    rng = random.Random(1)
    lists = pl.DataFrame(
        {"user": user, "session": session, "item": item, "score": round(rng.random(), 1)}
        for user in range(30)
        for session in range(2)
        for item in rng.sample(range(40), 12)
    )
    truth = lists.filter(pl.int_range(pl.len()).over("user", "session") % 4 == 0).drop("score")
    options: dict[str, Any] = {"metrics": ["nDCG@5"], "unit": ["user", "session"]}
    pinned, averaged = (
        cc.preset("standard", unit_mean="users", ties=ties) for ties in ("item_asc", "average")
    )
    comparison = cc.compare(
        {"a": lists, "b": lists}, truth, baseline="b", conventions=pinned, **options
    )

    expected = cc.evaluate(lists, truth, conventions=averaged, **options)["nDCG@5"]
    assert [each.average for each in comparison.ties] == [expected, expected]
    assert comparison.ties[0].low != expected
