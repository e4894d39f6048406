"""`concord ppi`: the estimates of params.yaml equal those of `concord.search.ppi`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import concord as cc
from tests.metrics_core.analyses.ppi.ppi_data import drawn
from tests.project import ROOT, attempt, change_params, run

CONVENTIONS = {"conventions.preset": "custom", "conventions.user_empty_truth": "zero"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    models, truth = drawn(np.random.default_rng(3), 100, 30, noise=0.3)
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    truth.rename({"predicted": "judge_grade"}).write_csv(tmp_path / "truth.csv")
    for name, lists in models.items():
        lists.write_parquet(tmp_path / f"{name}.parquet")
    entries = {name: {"path": f"{name}.parquet"} for name in models}
    columns = {"predicted": "judge_grade"}
    change = {
        "data": {"truth": {"path": "truth.csv", "columns": columns, "sample": "random"}},
        "models": entries,
        "background": {},
        "segments": {},
        "gate": {},
        "evaluation.metrics": ["nDCG", "Hit", "P"],
        "evaluation.ks": [2, 5],
        "comparison.baseline": "bm25",
        "comparison.primary": ["nDCG@5"],
        "comparison.min_effect": 0.01,
        **CONVENTIONS,
    }
    change_params(tmp_path, change)
    return tmp_path


def estimates(*metrics: str, exclude: Any = None, **options: Any) -> dict[str, Any]:
    """Return the content of the library's estimates."""
    models, truth = drawn(np.random.default_rng(3), 100, 30, noise=0.3)
    result = cc.search.ppi(
        models,
        truth,
        metrics=metrics,
        baseline="bm25",
        sample="random",
        conventions=cc.preset("standard", user_empty_truth="zero", exclude=exclude),
        min_effect=0.01,
        **options,
    )
    content: dict[str, Any] = json.loads(json.dumps(result.to_dict()))
    return content


def test_estimates_equal_those_of_the_library(project: Path) -> None:
    assert json.loads(run(project, "concord", "ppi", "--json")) == estimates("nDCG@5")


def test_excluded_pairs_are_read_without_results_of_the_pipeline(project: Path) -> None:
    models, _ = drawn(np.random.default_rng(3), 100, 30, noise=0.3)
    pairs = models["bm25"].gather_every(7).select("user", "item")
    pairs.write_csv(project / "pairs.csv")
    change_params(project, {"data.exclude": {"path": "pairs.csv"}})

    output = run(project, "concord", "ppi", "--json")

    assert json.loads(output) == estimates("nDCG@5", exclude=cc.data.excluded_pairs(pairs))


def test_named_metrics_are_printed(project: Path) -> None:
    output = run(project, "concord", "ppi", "--metric", "hit@2", "--metric", "P@5", COLUMNS="200")

    assert output.startswith("People judged the top 5 for 30 of 100 users")
    assert [line.split()[0] for line in output.splitlines()[2:6]] == [
        "P@5",
        "P@5",
        "Hit@2",
        "Hit@2",
    ]


def test_named_metrics_keep_their_p_values(project: Path) -> None:
    change_params(project, {"comparison.primary": ["nDCG@5", "P@5"]})
    metrics = [f"{name}@{k}" for name in ("nDCG", "Hit", "P") for k in (2, 5)]
    expected = estimates(*metrics, primary=["nDCG@5", "P@5"])["differences"]

    for label in ("P@5", "P@2"):  # primary, and not
        output = run(project, "concord", "ppi", "--json", "--metric", label)
        (found,) = json.loads(output)["differences"]
        assert found == next(each for each in expected if each["label"] == label)
        assert found["p_adjusted"] > found["p"]


def test_more_judgements_in_other_files_are_refused(project: Path) -> None:
    truth = {"path": "truth.csv", "sample": "random", "additional": ["more.csv"]}
    change_params(project, {"data.truth": truth})

    refused = attempt(project, "concord", "ppi")

    assert refused.returncode == 2
    assert "data.truth.additional: names several tables" in " ".join(refused.stderr.split())


def test_a_sample_that_is_not_declared_and_stages_on_null_grades_are_refused(project: Path) -> None:
    loaded = attempt(project, "concord", "stage", "load-truth")
    change_params(
        project,
        {"data.truth": {"path": "truth.csv", "columns": {"predicted": "judge_grade"}}},
    )
    undeclared = attempt(project, "concord", "ppi")

    assert loaded.returncode == 2
    assert "column 'grade'" in loaded.stderr
    assert "`ppi` reads grades of people" in " ".join(loaded.stderr.split())
    assert undeclared.returncode == 2
    assert "params.yaml: data.truth.sample: is None" in undeclared.stderr


def test_the_display_words_of_params_are_shown(project: Path) -> None:
    change_params(project, {"data.words": {"user": "question"}})

    output = run(project, "concord", "ppi")

    assert output.startswith("People judged the top 5 for 30 of 100 questions")
