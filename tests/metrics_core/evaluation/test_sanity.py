"""Lists that are too good or too bad to be true are found, and honest ones are not."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from benchmarks import accidents
from benchmarks.accidents import World
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.data.relations import registered_only
from concord.metrics_core.evaluation.executors import execute_in_memory
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.sanity_counts import PERFECT_TOP, hits_at
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison_parts import SUSPICIOUS

SEED = 20261129
OPTIONS: dict[str, Any] = {
    "metrics": ["nDCG@10", "R@20"],
    "primary": ["nDCG@10"],
    "baseline": "popularity",
    "panel": False,
    "resamples": 100,
    "gate": {"guardrails": {"nDCG@10": "2%"}, "undecided": "pass"},
}


def _compare(world: World, **options: Any) -> cc.results.Comparison:
    return cc.compare(**world.arguments(), **{**OPTIONS, **options})


def _codes(comparison: cc.results.Comparison) -> set[tuple[str, tuple[str, ...]]]:
    return {(each.code, each.models) for each in comparison.warnings}


def _suspicious(comparison: cc.results.Comparison) -> set[str]:
    return {each.code for each in comparison.warnings if each.code in SUSPICIOUS}


@pytest.fixture(scope="module")
def honest() -> World:
    return accidents.world(np.random.default_rng(SEED))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED + 1)


@pytest.mark.parametrize(
    ("items", "relevant", "expected"),
    [
        ("abcxy", "abc", 1),  # 3 relevant items, at ranks 1 to 3
        ("cabxy", "abc", 1),  # in another order
        ("abxcy", "abc", 0),  # x is at rank 3
        ("abxyz", "ab", -1),  # fewer than 3 relevant items
        ("abc", "abcd", -1),  # 3 ranks, fewer than the 4 relevant items and than 10
        ("abcdefghij", "abcdefghijklm", 3),  # 10 ranks, all relevant, so all judged
        ("abcdefghij", "abcdefghijklmnopqrstuvwxyz", -1),  # fewer than half as many as relevant
        ("abcdefghix", "abcdefghijklm", 0),
        ("", "abc", -1),
    ],
)
def test_a_perfect_top_has_all_relevant_items_first(
    items: str, relevant: str, expected: int
) -> None:
    ranks = range(1, len(items) + 1)
    lists = pl.DataFrame({"user": ["u"] * len(items), "item": [*items], "rank": ranks})
    truth = pl.DataFrame({"user": ["u"] * len(relevant), "item": [*relevant], "grade": 1.0})
    data = EvaluationData(truth=truth, connect=lambda _: registered_only())
    task = Task([parse("P@2")], preset("standard"))
    (part,) = execute_in_memory(lists.cast({"rank": pl.Int64}), data, task)

    assert part.values[PERFECT_TOP].to_list() == [expected]
    n_hits = len({*items[:2]} & {*relevant})
    assert part.values[hits_at(2)].to_list() == [n_hits]


@pytest.mark.parametrize("with_tables", [True, False])
def test_a_model_that_returns_the_ground_truth_is_suspicious(
    honest: World, rng: np.random.Generator, with_tables: bool
) -> None:
    world = accidents.holds_truth(honest, "model-a", 1.0, rng)
    world = world if with_tables else replace(world, train=None, items=None)
    comparison = _compare(world)

    assert ("holds_truth", ("model-a",)) in _codes(comparison)
    assert comparison.gate is not None
    assert {each.model: each.outcome for each in comparison.gate.models} == {
        "model-a": "suspicious",
        "model-b": "pass",
    }


def test_a_model_that_saw_a_fifth_of_the_ground_truth_has_a_serious_warning(
    honest: World, rng: np.random.Generator
) -> None:
    comparison = _compare(accidents.holds_truth(honest, "model-a", 0.2, rng))

    assert "perfect_for_some" in {each.code for each in comparison.serious}
    assert not _suspicious(comparison)


def test_a_leak_of_single_relevant_items_has_a_serious_warning(rng: np.random.Generator) -> None:
    one_each = accidents.world(rng, relevant=(1, 1))
    comparison = _compare(accidents.holds_truth(one_each, "model-a", 1.0, rng))

    assert ("near_ceiling", ("model-a",)) in _codes(comparison)


@pytest.mark.parametrize("name", ["model-a", "popularity"])
def test_ids_of_another_system_are_suspicious(honest: World, name: str) -> None:
    comparison = _compare(accidents.foreign_ids(honest, name))

    assert ("foreign_ids", (name,)) in _codes(comparison)
    assert "no_common_item" not in {each.code for each in comparison.warnings}


def test_unknown_items_of_all_models_are_not_foreign(rng: np.random.Generator) -> None:
    """A niche ground truth shares few items with any list."""
    truth = {f"u{n}": ["niche"] for n in range(20)}
    lists = {user: [f"i{n}" for n in rng.permutation(2_000)[:100]] for user in truth}
    other = {user: [*items[:-1], "niche"] for user, items in lists.items()}
    comparison = cc.compare({"a": lists, "b": other}, truth, metrics=["nDCG@10"], baseline="a")

    assert "foreign_ids" not in {each.code for each in comparison.warnings}


def test_a_model_without_lists_for_the_users_of_the_truth_is_foreign(honest: World) -> None:
    others = pl.col("user").str.replace("u", "customer-")
    model = honest.models["model-a"]
    mixed = pl.concat([model.filter(pl.col("user") == "u7"), model.with_columns(others)])
    comparison = _compare(replace(honest, models={**honest.models, "model-a": mixed}))

    assert ("foreign_ids", ("model-a",)) in _codes(comparison)


def test_train_and_truth_in_each_others_place_have_a_serious_warning(honest: World) -> None:
    assert "swapped_split" in {each.code for each in _compare(accidents.swapped(honest)).serious}


def test_an_acknowledged_warning_lets_the_gate_decide(
    honest: World, rng: np.random.Generator
) -> None:
    world = accidents.holds_truth(honest, "model-a", 1.0, rng)
    reason = "model-a is an oracle"
    entry = {"reason": reason, "models": ["model-a"]}
    comparison = _compare(world, acknowledge={"holds_truth": entry})

    assert comparison.gate is not None
    assert comparison.gate.outcome == "pass"
    assert f"Accepted (model-a, holds_truth): {reason}." in comparison.gate.lines[2]


def test_rated_items_in_any_order_are_no_leak(rng: np.random.Generator) -> None:
    """Rating prediction ranks the items that a user rated, most of which are relevant."""
    rated = {f"u{n}": [f"i{i}" for i in rng.permutation(200)[:5]] for n in range(200)}
    truth = {u: {i: int(rng.random() < 0.85) for i in items} for u, items in rated.items()}
    models = {
        name: {u: rng.permutation(items).tolist() for u, items in rated.items()}
        for name in ("a", "b")
    }
    comparison = cc.compare(models, truth, metrics=["nDCG@5"], baseline="a", panel=False)

    assert not _suspicious(comparison)


def test_a_dense_catalogue_is_no_leak(rng: np.random.Generator) -> None:
    items = [f"i{n}" for n in range(12)]
    truth = {f"u{n}": rng.permutation(items)[:10].tolist() for n in range(100)}
    good = {u: [*wanted, *({*items} - {*wanted})] for u, wanted in truth.items()}
    other = {u: rng.permutation(items).tolist() for u in truth}
    comparison = cc.compare(
        {"good": good, "other": other},
        truth,
        metrics=["nDCG@5"],
        baseline="other",
        items=pl.DataFrame({"item": items}),
    )

    assert "holds_truth" not in _suspicious(comparison)


def test_one_score_for_lists_whose_values_no_order_changes_is_no_accident() -> None:
    """At the length of the lists, recall does not depend on the order."""
    lists = {f"u{n}": dict.fromkeys((f"i{(n + i) % 20}" for i in range(6)), 1.0) for n in range(40)}
    truth = {user: [*items][:2] for user, items in lists.items()}
    models = {"a": lists, "b": lists}
    same = cc.compare(models, truth, metrics=["R@6"], baseline="a", panel=False)
    ordered = cc.compare(models, truth, metrics=["nDCG@6"], baseline="a", panel=False)

    assert not _suspicious(same)
    assert _suspicious(ordered) == {"constant_scores"}


@pytest.mark.parametrize("more", ["R@20", "R@50", "R@100"])
def test_chance_is_judged_where_it_tells_most(rng: np.random.Generator, more: str) -> None:
    """At a cutoff near the size of the catalogue any list holds all relevant items."""
    items = [f"i{n}" for n in range(100)]
    truth = {f"u{n}": rng.permutation(items)[:3].tolist() for n in range(200)}
    lists = {name: {user: rng.permutation(items).tolist() for user in truth} for name in ("a", "b")}
    comparison = cc.compare(
        lists,
        truth,
        metrics=["nDCG@10", more],
        primary=["nDCG@10"],
        baseline="a",
        items=pl.DataFrame({"item": items}),
        panel=False,
    )

    assert _suspicious(comparison) == {"no_better_than_chance"}


def test_an_acknowledgement_of_one_model_holds_for_no_other(
    honest: World, rng: np.random.Generator
) -> None:
    world = accidents.holds_truth(honest, "model-a", 1.0, rng)
    world = accidents.holds_truth(world, "model-b", 1.0, rng)
    entry = {"reason": "model-a is an oracle", "models": ["model-a"]}
    comparison = _compare(world, acknowledge={"holds_truth": entry})

    assert comparison.gate is not None
    assert [each.outcome for each in comparison.gate.models] == ["pass", "suspicious"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"reason": "on purpose"}, "acknowledge.holds_truth.models: is missing"),
        ({"reason": "on purpose", "models": "model-a"}, "models: is 'model-a'"),
        ({"reason": "on purpose", "models": ["model-c"]}, "'model-c' is not among the models"),
    ],
)
def test_an_acknowledgement_of_suspicion_names_its_models(
    honest: World, entry: dict[str, Any], problem: str
) -> None:
    with pytest.raises(cc.InputError, match=problem):
        _compare(honest, acknowledge={"holds_truth": entry})


def test_ids_shuffled_among_popular_items_have_a_serious_warning(
    honest: World, rng: np.random.Generator
) -> None:
    """Popular items take the places of popular items, so that hits are above chance."""
    lists = honest.models["popularity"]
    ids = lists["item"].unique(maintain_order=True)
    items = pl.col("item").replace_strict(ids, ids.gather(rng.permutation(len(ids))))
    models = {**honest.models, "popularity": lists.with_columns(items)}
    comparison = _compare(replace(honest, models=models))

    assert ("far_below_popular", ("popularity",)) in _codes(comparison)


def test_a_leak_beats_the_most_popular_items(honest: World, rng: np.random.Generator) -> None:
    """So no warning says that no model does; the gate decides on another model only."""
    world = accidents.holds_truth(honest, "model-a", 1.0, rng)
    gate = {"guardrails": {"nDCG@10": "2%"}, "undecided": "pass", "models": ["model-b"]}
    weak = accidents.shuffled_items(world, "model-b", rng).models["model-b"]
    models = {**world.models, "popularity": weak}
    comparison = _compare(replace(world, models=models), gate=gate)

    assert "below_popular" not in {each.code for each in comparison.warnings}
    assert comparison.gate is not None
    others = comparison.to_markdown().split("Suspicious: ")[1:]
    assert others[0].startswith("model-a")


def test_a_single_evaluation_of_the_ground_truth_is_warned_of(honest: World) -> None:
    leaked = accidents.holds_truth(honest, "model-a", 1.0, np.random.default_rng(1))
    evaluation = cc.evaluate(leaked.models["model-a"], honest.truth, metrics=["nDCG@10"])

    assert [each.code for each in evaluation.warnings if each.severity == "serious"] == [
        "holds_truth"
    ]
