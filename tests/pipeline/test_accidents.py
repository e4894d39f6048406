"""Usual accidents of an evaluation, by `concord run` and `concord gate`, and by `cc.compare`."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import accidents, simulated_accidents
from benchmarks.accidents import World
from concord.metrics_core.results.comparison_parts import SUSPICIOUS
from tests.project import attempt, change_params, copied_from, made_once, run

SEED = 20261129
BEFORE_EVALUATION = {*SUSPICIOUS, "perfect_for_some", "swapped_split", "one_list"}
OF_MEANS = {"near_ceiling", "below_popular", "far_below_popular", "tie_range"}
MODELS = ("popularity", "model-a", "model-b")
SHUFFLED = ("no_better_than_chance", "train_items_recommended")
Change = Callable[[World, np.random.Generator], World]


def _of(model: str, *codes: str) -> dict[str, list[str]]:
    return {code: [model] for code in codes}


# Accident, exit code of the gate, codes of all warnings with their models.
ACCIDENTS: dict[str, tuple[Change, int, dict[str, list[str]]]] = {
    "truth": (
        lambda world, rng: accidents.holds_truth(world, "model-a", 1.0, rng),
        4,
        {"holds_truth": ["model-a"]},
    ),
    "part of the truth": (
        lambda world, rng: accidents.holds_truth(world, "model-a", 1 / 3, rng),
        0,
        {"perfect_for_some": ["model-a"]},
    ),
    "truth, one item per user": (
        lambda _, rng: accidents.holds_truth(accidents.leave_one_out(rng), "model-a", 1.0, rng),
        0,
        {"near_ceiling": ["model-a"]},
    ),
    "candidates are judged items only": (
        lambda world, _: accidents.only_judged(world, "model-a"),
        0,
        {"user_sets_differ": ["model-a"], "short_lists": ["model-a"]},
    ),
    "popularity counted on the truth": (  # is a good baseline: no list shows where it comes from
        lambda world, _: accidents.popular_on_test(world, "popularity"),
        0,
        {},
    ),
    "shuffled ids": (
        lambda world, rng: accidents.shuffled_items(world, "model-a", rng),
        4,
        _of("model-a", *SHUFFLED),
    ),
    "shuffled ids of the baseline": (
        lambda world, rng: accidents.shuffled_items(world, "popularity", rng),
        4,
        _of("popularity", *SHUFFLED),
    ),
    "lists of other users": (
        lambda world, rng: accidents.shuffled_users(world, "model-a", rng),
        1,
        _of("model-a", "far_below_popular", "train_items_recommended"),
    ),
    "foreign ids": (
        lambda world, _: accidents.foreign_ids(world, "model-a"),
        4,
        _of("model-a", "foreign_ids", "no_better_than_chance"),
    ),
    "constant scores": (
        lambda world, _: accidents.constant_scores(world, "model-a"),
        4,
        _of("model-a", "constant_scores", "tie_range"),
    ),
    "swapped train and truth": (
        lambda world, _: accidents.swapped(world),
        4,
        {
            "swapped_split": [],
            "below_popular": [],
            "no_better_than_chance": [*MODELS],
            "train_items_recommended": [*MODELS],
        },
    ),
    "one list for all users": (
        lambda world, _: replace(
            accidents.popular_on_test(replace(world, train=None), "model-a"), train=world.train
        ),
        1,
        _of("model-a", "one_list", "train_items_recommended"),
    ),
    "copy of the baseline, in other order of rows": (
        lambda world, _: replace(
            world, models={**world.models, "model-b": world.models["popularity"].reverse()}
        ),
        0,
        {"same_lists": ["popularity", "model-b"]},
    ),
}


def _write(world: World, folder: Path) -> None:
    for name in MODELS:
        world.models[name].write_parquet(folder / f"{name}.parquet")
    tables = {"truth": world.truth, "train": world.train, "items": world.items}
    for name, table in tables.items():
        if table is not None:
            table.write_parquet(folder / f"{name}.parquet")


def honest_project(folder: Path) -> None:
    """Make a project on an honest world; its files are in its folder."""
    project = folder / "shop"
    project.mkdir()
    _write(accidents.world(np.random.default_rng(SEED)), project)
    run(project, "concord", "init", "--no-dvc")
    change_params(
        project / "evaluation",
        {
            "comparison.baseline": "popularity",
            "comparison.primary": ["nDCG@10"],
            "comparison.resamples": 100,
            "comparison.min_effect": 0,
            "evaluation.metrics": ["nDCG@10", "R@20"],
            "evaluation.panel": False,
            "segments": {},
            "gate": {"guardrails": {"nDCG@10": "2%"}, "undecided": "pass"},
        },
    )
    run(project / "evaluation", "concord", "run", "compare")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    return made_once(tmp_path_factory, worker_id, honest_project) / "shop"


def _stored_warnings(project: Path) -> list[tuple[str, str, list[str]]]:
    comparison = json.loads((project / "results/comparison/comparison.json").read_text())
    return sorted(
        (each["code"], each["severity"], sorted(each["models"])) for each in comparison["warnings"]
    )


def test_an_honest_evaluation_passes_without_a_warning(honest: Path) -> None:
    done = attempt(honest / "evaluation", "concord", "gate")

    assert done.returncode == 0, done.stdout
    assert _stored_warnings(honest / "evaluation") == []


@pytest.mark.whole
@pytest.mark.parametrize("fixture", ["demo", "movielens_project"])
def test_real_models_are_not_suspected(fixture: str, request: pytest.FixtureRequest) -> None:
    codes = {code for code, _, _ in _stored_warnings(request.getfixturevalue(fixture))}

    assert not codes & {*BEFORE_EVALUATION, *OF_MEANS}


@pytest.mark.parametrize("name", ACCIDENTS)
def test_an_accident_is_found_by_commands_and_library(
    honest: Path, tmp_path: Path, name: str
) -> None:
    change, code, warnings = ACCIDENTS[name]
    root = copied_from(honest, tmp_path)
    base = accidents.world(np.random.default_rng(SEED))
    world = change(base, np.random.default_rng(SEED + 1))
    _write(world, root)
    project = root / "evaluation"
    given = {name: getattr(world, name) is not None for name in ("train", "items")}
    background = {name: {"path": f"../{name}.parquet"} for name in given if given[name]}
    change_params(project, {"background": background})
    run(project, "concord", "run", "compare")
    done = attempt(project, "concord", "gate")
    stored = _stored_warnings(project)

    assert done.returncode == code, done.stdout
    expected = {(each, model) for each in warnings for model in warnings[each] or [""]}
    assert {(each, model) for each, _, models in stored for model in models or [""]} == expected
    comparison = simulated_accidents.compare(world)
    assert stored == sorted(
        (each.code, each.severity, sorted(each.models)) for each in comparison.warnings
    )
    assert comparison.gate is not None
    assert (comparison.gate.outcome == "suspicious") == (code == 4)
    shown = run(project, "concord", "validate")
    for each in comparison.warnings:
        is_shown = f"{each.model_names}: warning: {each.sentence}" in shown
        assert is_shown or each.code not in BEFORE_EVALUATION, shown
