"""Repositories as others have them: found, valid, evaluated and gated without edits by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from concord.pipeline.params.model import Params
from tests.pipeline.init.replicas import write_nested_matrix, write_slates
from tests.pipeline.init.repository import commit, repository, valid_evaluation
from tests.project import attempt, change_params, commit_results, run, run_all_stages

REPLICAS: dict[str, tuple[Callable[[Path], None], str]] = {
    "nested matrix": (write_nested_matrix, "data-split/tiny/test.parquet"),
    "slates": (write_slates, "clicks/march.parquet"),
}


def evaluated(folder: Path, name: str) -> tuple[Path, str]:
    """Return the new evaluation in a replica, and what `concord init` printed."""
    write, truth = REPLICAS[name]
    root = repository(folder, {})
    write(root)
    return root / "evaluation", run(root, "concord", "init", "--truth", truth)


def test_nested_lists_of_one_data_set_of_a_matrix(tmp_path: Path) -> None:
    folder, output = evaluated(tmp_path, "nested matrix")
    params = valid_evaluation(folder)

    assert {name: entry.path for name, entry in params.models.items()} == {
        name: f"../runs/tiny-{name}/recs-eval.parquet" for name in ("als", "knn", "popular")
    }
    assert params.data.columns == {"user": "user_id", "item": "item_id"}
    assert params.data.truth.columns == {"grade": "rating", "time": "timestamp"}
    assert params.comparison.baseline == "popular"
    assert params.conventions["relevance_threshold"] == 4
    assert params.evaluation.ks == [5, 10, 20]
    assert "runs/mini-als/recs-eval.parquet: another data set" in output
    assert "runs/tiny-als/pred-eval.parquet: has grades next to scores" in output


def test_last_stage_of_several_lists_per_slate(tmp_path: Path) -> None:
    folder, output = evaluated(tmp_path, "slates")
    params = valid_evaluation(folder)

    assert {name: (each["path"], each["where"]) for name, each in _entries(params).items()} == {
        name: (f"../outputs/march/{name}/recommendations.parquet", {"stage": "final"})
        for name in ("nrms", "popular")
    }
    assert (
        "rows with stage final are read, not ranked, reranked: nrms and popular (models" in output
    )
    assert "outputs/april/nrms/recommendations.parquet: another data set" in output


def _entries(params: Params) -> dict[str, dict[str, Any]]:
    return params.model_dump(include={"models"})["models"]


@pytest.mark.whole
@pytest.mark.parametrize("name", REPLICAS)
def test_replicas_are_evaluated_and_gated_against_a_revision(tmp_path: Path, name: str) -> None:
    folder, _ = evaluated(tmp_path, name)
    change_params(folder, {"gate": {"guardrails": {"nDCG@10": "2%"}}})
    run_all_stages(folder, last="report")
    commit_results(folder, last="report")
    commit(tmp_path)
    decision = attempt(folder, "concord", "gate", "HEAD")

    assert (decision.returncode, "unchanged" in decision.stdout) == (0, True), decision
