"""Folds with separate truths, through all stages and through the library."""

import math
from pathlib import Path
from statistics import fmean, variance
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

import concord as cc
from concord.metrics_core.results.stored import read_comparison
from tests.library import COMPARISON, assert_library_gives_the_same, assert_same_bits
from tests.metrics_core.data.test_units import train
from tests.project import (
    change_params,
    commit_results,
    copied,
    copied_from,
    params_refusal,
    run,
    run_all_stages,
    run_stages,
    stages_to_run,
)

FOLDS = (1, 2, 3)
N_USERS, N_ITEMS, K = 60, 40, 10
LABEL = f"R@{K}"
SKILLS = {"popularity": 0.0, "als": 0.25}


def truth(fold: int) -> pl.DataFrame:
    """Return two relevant items per user; other folds have other items."""
    users = np.arange(N_USERS)
    items = np.stack([(7 * users + 3 * fold) % N_ITEMS, (11 * users + 5 * fold + 1) % N_ITEMS])
    return pl.DataFrame({"user": np.tile(users, 2), "item": items.ravel()}).unique().sort("user")


def lists(model: str, fold: int) -> pl.DataFrame:
    """Return ten items per user; a higher skill ranks relevant items of the fold earlier."""
    rng = np.random.default_rng([len(model), fold])
    scores = rng.random((N_USERS, N_ITEMS))
    relevant = truth(fold)
    scores[relevant["user"].to_numpy(), relevant["item"].to_numpy()] += SKILLS[model] + fold / 20
    best = np.argsort(-scores, axis=1)[:, :K]
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(N_USERS), K),
            "item": best.ravel(),
            "rank": np.tile(np.arange(1, K + 1), N_USERS),
        }
    )


def recalls(model: str) -> list[list[float]]:
    """Return R@10 of every user in each fold, computed without Concord."""
    results = []
    for fold in FOLDS:
        recommended = dict(lists(model, fold).group_by("user").agg("item").iter_rows())
        relevant = dict(truth(fold).group_by("user").agg("item").iter_rows())
        results.append(
            [len({*recommended[u]} & {*relevant[u]}) / len(relevant[u]) for u in range(N_USERS)]
        )
    return results


def compare_folds(**settings: Any) -> cc.results.Comparison:
    options: dict[str, Any] = {
        "models": {model: {"replicates": {f: lists(model, f) for f in FOLDS}} for model in SKILLS},
        "truth": {"replicates": {fold: truth(fold) for fold in FOLDS}},
        "metrics": [LABEL],
        "baseline": "popularity",
        "conventions": "standard",
        "paired_replicates": True,
        "resamples": 99,
    }
    return cc.compare(**options | settings)


def test_each_replicate_is_evaluated_on_the_truth_of_its_fold() -> None:
    """Values are means over folds; half^2 = t(n-1)^2 s^2/n + t(R-1)^2 times the folds' part."""
    gaps = [
        [a - b for a, b in zip(*rows, strict=True)]
        for rows in zip(recalls("als"), recalls("popularity"), strict=True)
    ]
    of_users = [fmean(column) for column in zip(*gaps, strict=True)]
    means, mean, r = [fmean(row) for row in gaps], fmean(of_users), len(FOLDS)
    remainder = math.fsum(
        (gap - of_users[u] - of_fold + mean) ** 2
        for row, of_fold in zip(gaps, means, strict=True)
        for u, gap in enumerate(row)
    ) / ((N_USERS - 1) * (r - 1))
    of_folds = max(0.0, variance(means) - remainder / N_USERS) / r
    half = math.sqrt(
        student.ppf(0.975, N_USERS - 1) ** 2 * variance(of_users) / N_USERS
        + student.ppf(0.975, r - 1) ** 2 * of_folds
    )

    comparison = compare_folds()
    row = comparison.differences.row(0, named=True)
    sign = 1 if row["a"] == "als" else -1

    assert sign * row["difference"] == pytest.approx(mean, abs=1e-12)
    assert (row["trained_high"] - row["trained_low"]) / 2 == pytest.approx(half, abs=1e-12)
    assert [each.role for each in comparison.provenance.inputs[:3]] == [
        f"truth of fold {fold}" for fold in FOLDS
    ]
    assert comparison.quality["truth"]["rows"] == sum(len(truth(fold)) for fold in FOLDS)


def test_recall_of_groups_of_relevant_items_uses_the_truth_of_the_fold() -> None:
    """All items are in one group, so its recall is that of all items."""
    everything = (
        train().select("user").unique().join(pl.DataFrame({"item": range(N_ITEMS)}), how="cross")
    )
    segments = {"wanted": {"by": "truth_item", "shares": [0.98, 0.99]}}
    comparison = compare_folds(train=everything, segments=segments)
    groups = comparison.segments[0]
    of_head = {each.model: each.mean for each in groups.cells if each.segment == "head"}
    sentences = {each.code: each.sentence for each in comparison.warnings}

    for model in SKILLS:
        assert of_head[model] == pytest.approx(fmean(map(fmean, recalls(model))), abs=1e-12)
    total = sum(len(truth(fold)) for fold in FOLDS)
    assert f"{total} rows of the ground truth" in sentences["truth_in_train"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"paired_replicates": False},
            "paired_replicates: is false, and each fold has its own ground truth",
        ),
        (
            {"truth": {"replicates": {1: truth(1), "1": truth(2)}}},
            "truth.replicates: has a duplicate number: 1 and '1'",
        ),
        (
            {"truth": {"replicates": {1: truth(1), 2: truth(2)}}},
            "als: has the replicates 1, 2 and 3, and the ground truth has the folds 1 and 2",
        ),
        (
            {
                "models": {
                    "popularity": lists("popularity", 1),
                    "als": {"replicates": {f: lists("als", f) for f in FOLDS}},
                }
            },
            "popularity: has one replicate, and the ground truth has the folds 1, 2 and 3",
        ),
        (
            {
                "truth": {
                    "replicates": {1: truth(1), 2: truth(2).rename({"item": "thing"}), 3: truth(3)}
                }
            },
            "fold 2: truth: ",
        ),
    ],
)
def test_invalid_folds_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"fix: ") as refused:
        compare_folds(**settings)

    assert message in str(refused.value)


def test_a_user_may_have_the_id_replicates() -> None:
    truth_of = {"replicates": {"a": 1.0}}

    lists_of = {"one": {"u": ["b"], "replicates": ["a"]}, "two": {"u": ["a"], "replicates": ["b"]}}

    comparison = cc.compare(
        lists_of, truth_of, metrics=["R@1"], baseline="one", conventions="standard", resamples=99
    )

    assert comparison.score("one", "R@1").mean == 1.0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an evaluated project of two models and three folds."""
    project = copied(tmp_path_factory.mktemp("folds"))
    (project / "folds").mkdir()
    models = {}
    for fold in FOLDS:
        truth(fold).write_parquet(project / f"folds/test-{fold}.parquet")
        for model in SKILLS:
            lists(model, fold).write_parquet(project / f"folds-{model}-{fold}.parquet")
            models[f"{model}-{fold}"] = {"path": f"folds-{model}-{fold}.parquet", "fold": fold}
    train().write_parquet(project / "train.parquet")
    change_params(
        project,
        {
            "data.truth": {"path": "folds", "folds": {f: f"test-{f}.parquet" for f in FOLDS}},
            "background": {"train": {"path": "train.parquet"}},
            "models": models,
            "evaluation.metrics": ["nDCG", "R"],
            "evaluation.ks": [10],
            "comparison.replicates": {model: f"{model}-*" for model in SKILLS},
            "comparison.paired_replicates": True,
            "comparison.primary": [LABEL],
            "segments": {"relevant items": {"by": "truth_item", "shares": [0.5, 0.8]}},
        },
    )
    run_all_stages(project, last="compare")
    return project


@pytest.mark.whole
def test_stages_equal_the_library(project: Path) -> None:
    assert_library_gives_the_same(project)
    comparison = read_comparison(project / COMPARISON)
    assert comparison.score("als", LABEL).mean == pytest.approx(fmean(map(fmean, recalls("als"))))
    explained = run(project, "concord", "explain", "--model", "als-3", "5", LABEL)
    assert f"{LABEL} = {recalls('als')[2][5]:g}" in explained


@pytest.mark.whole
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_engines_use_the_truth_of_the_fold(project: Path, tmp_path: Path, engine: str) -> None:
    models = [f"{model}-{fold}" for model in SKILLS for fold in FOLDS]
    assert_same_bits(project, tmp_path, {"evaluation.engine": engine}, *models)


@pytest.mark.whole
def test_another_truth_of_a_fold_reruns_dependent_stages(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    commit_results(copy, last="compare")
    assert stages_to_run(copy) == {"report", "log"}

    truth(2).head(100).write_parquet(copy / "folds/test-2.parquet")

    assert stages_to_run(copy) == {"load-truth", "report", "log"}


@pytest.mark.whole
def test_the_ground_truth_may_change_from_folds_to_a_file_and_back(
    project: Path, tmp_path: Path
) -> None:
    copy = copied_from(project, tmp_path)
    params, target = (copy / "params.yaml").read_text(), copy / "results/data/truth.parquet"
    models = {model: {"path": f"folds-{model}-1.parquet"} for model in SKILLS}
    one_file: dict[str, Any] = {"models": models, "data.truth": {"path": "folds/test-1.parquet"}}
    change_params(copy, one_file | {"comparison.replicates": {}, "comparison.baseline": "als"})

    run_stages(copy, "load-truth")
    assert target.is_file()
    (copy / "params.yaml").write_text(params)
    run_stages(copy, "load-truth")
    assert sorted(file.name for file in target.iterdir()) == [f"{n}.parquet" for n in FOLDS]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"comparison.paired_replicates": False}, "comparison.paired_replicates: is false"),
        ({"models.als-2.fold": 3}, "models.als-2.fold: is 3, and the lists are replicate 2"),
        ({"models.als-2": {"path": "folds-als-2.parquet"}}, "models.als-2.fold: is missing"),
        (
            {"data.truth.folds": {}},
            "models.popularity-1.fold: is 1, and the ground truth has no folds",
        ),
        (
            {"data.truth.folds": {1: "../a.parquet"}},
            "data.truth.folds.1: is '../a.parquet', which leads out",
        ),
    ],
)
def test_invalid_params_are_refused(project: Path, change: dict[str, Any], message: str) -> None:
    assert message in params_refusal(project, change)
