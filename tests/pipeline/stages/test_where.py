"""Filters of rows, `where`, through all stages, the gate and the library."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.library import COMPARISON, assert_library_gives_the_same, evaluated_project
from tests.metrics_core.data.test_units import train
from tests.pipeline.dvc.revisions import commit
from tests.pipeline.stages.test_folds import SKILLS, lists, truth
from tests.project import (
    attempt,
    change_params,
    commit_results,
    copied_from,
    run,
    run_all_stages,
    stages_to_run,
)

pytestmark = pytest.mark.whole

RESULTS = pl.concat(lists(model, 1).with_columns(algorithm=pl.lit(model)) for model in SKILLS)
SPLITS = {"test": truth(1), "valid": truth(2)}
TRUTH = pl.concat(rows.with_columns(split=pl.lit(name)) for name, rows in SPLITS.items())
MODELS = {model: {"path": "results.parquet", "where": {"algorithm": model}} for model in SKILLS}
OF_TEST = {"path": "truth.parquet", "where": {"split": "test"}}
CHANGES: dict[str, Any] = {
    "models": MODELS,
    "data.truth": OF_TEST,
    "comparison.baseline": "popularity",
    "comparison.primary": ["R@10"],
    "evaluation.metrics": ["R", "Novelty"],
    "evaluation.ks": [10],
    "evaluation.panel": False,
}


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    interactions = pl.concat(
        [train().with_columns(split=pl.lit("train")), TRUTH.select("user", "item", "split")],
        how="diagonal",
    )
    tables = {"truth": TRUTH, "train": interactions, "results": RESULTS}
    background = {"train": {"path": "train.parquet", "where": {"split": "train"}}}
    project = evaluated_project(
        tmp_path_factory.mktemp("where"), tables, {**CHANGES, "background": background}
    )
    commit_results(project, last="report")
    commit(project, "a state")
    run(project, "git", "tag", "v1")
    return project


def test_filtered_tables_give_the_values_of_separate_tables(filtered: Path, tmp_path: Path) -> None:
    tables = {model: lists(model, 1) for model in SKILLS} | {"truth": truth(1), "train": train()}
    rest = {key: value for key, value in CHANGES.items() if key not in ("models", "data.truth")}
    separate = evaluated_project(tmp_path, tables, rest, last="compare")
    files = ("metrics/als.json", "metrics/popularity.json", "comparison/differences.csv")

    for name in files:
        assert (filtered / "results" / name).read_bytes() == (
            separate / "results" / name
        ).read_bytes()


def test_the_library_gives_the_same(filtered: Path) -> None:
    assert_library_gives_the_same(filtered)


def test_another_filter_of_a_model_runs_only_its_stages(filtered: Path, tmp_path: Path) -> None:
    project = copied_from(filtered, tmp_path)
    change_params(project, {"models.als.where": {"algorithm": "popularity"}})

    assert stages_to_run(project) >= {"load@als", "compare"}
    assert not stages_to_run(project) & {"load@popularity", "load-truth", "load-background@train"}


def test_other_rows_of_a_file_are_another_ground_truth(filtered: Path, tmp_path: Path) -> None:
    project = copied_from(filtered, tmp_path)
    change_params(project, {"data.truth.where": {"split": "valid"}, "gate.guardrails": {"R@10": 0}})
    run_all_stages(project, last="compare")
    decided = attempt(project, "concord", "gate", "v1")

    assert decided.returncode == 2
    assert "ground truth" in decided.stderr
    assert (project / COMPARISON).is_file()
