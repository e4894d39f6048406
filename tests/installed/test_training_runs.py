"""A repository whose models name the MLflow runs that trained them; their database is elsewhere."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.installed.repository import Repository
from tests.project import stages_run

pytestmark = pytest.mark.whole

Evaluated = Callable[[str], Repository]
AT = "evaluation"


def test_a_clean_clone_comes_to_its_comment(evaluated: Evaluated, tmp_path: Path) -> None:
    """Run the commands of docs/how-to/ci.md; git has the ids of the runs but no database."""
    result = evaluated("own_packages").copied(tmp_path)
    remote, base = result.publish(tmp_path)
    job = result.cloned(tmp_path / "job", remote, "main")
    job.run_here("dvc", "pull", "-q", "--run-cache", "--allow-missing")
    repro = job.attempt("dvc", "repro", at=AT)
    job.run("concord", "comment", base, "--commit", base, "--output", "comment.md", at=AT)

    assert repro.returncode == 0, repro.stderr
    assert stages_run(repro.stdout) == ["log"]
    assert repro.stderr.count("has no active training run of neighbours and top_sellers: ") == 1
    assert _own_runs(job) == [(model, _id(job, model)) for model in ("neighbours", "top_sellers")]
    assert job.changed() == []
    assert (job.root / AT / "comment.md").read_text().startswith("<!-- concord: evaluation -->\n")


def test_an_experiment_in_a_temporary_copy_trains_and_leaves_its_runs_in_the_project(
    evaluated: Evaluated, tmp_path: Path
) -> None:
    """The training logs to a relative path in the copy, which DVC deletes."""
    shop = evaluated("own_packages").copied(tmp_path)
    more = ("-n", "more", "-S", "../config/models.toml:neighbours.shrink=50")
    ran = stages_run(shop.run("dvc", "exp", "run", "--temp", *more, at=AT))
    output = json.loads(shop.run_here("dvc", "exp", "show", "--json", at=AT))
    (result,) = [each["data"]["metrics"] for each in _leaves(output) if each.get("name") == "more"]
    ((model, run_id),) = _own_runs(shop)

    assert ran == [
        "../dvc.yaml:train@neighbours",
        "load@neighbours",
        "evaluate@neighbours",
        "compare",
        "report",
        "log",
    ]
    assert list(result) == ["evaluation/results/report/primary.json"]
    assert model == "neighbours"
    assert run_id != _id(shop, "neighbours")


def _own_runs(repository: Repository) -> list[tuple[str, str]]:
    """Return models whose runs have no parent run, and the training runs that they name."""
    with closing(sqlite3.connect(repository.root / "mlflow.db")) as database:
        return database.execute(
            "SELECT r.name, t.value FROM runs r JOIN tags t USING (run_uuid)"
            " WHERE t.key = 'concord.training_run' AND run_uuid NOT IN"
            " (SELECT run_uuid FROM tags WHERE key = 'mlflow.parentRunId') ORDER BY r.name"
        ).fetchall()


def _id(repository: Repository, model: str) -> str:
    """Return the id of a model's training run as committed."""
    return str(json.loads((repository.root / f"out/{model}.run.json").read_text())["run_id"])


def _leaves(node: Any) -> list[dict[str, Any]]:
    """Return all experiments at any depth."""
    if isinstance(node, list):
        return [leaf for each in node for leaf in _leaves(each)]
    if not isinstance(node, dict):
        return []
    leaves = [node] if isinstance(node.get("data"), dict) else []
    return leaves + [leaf for each in node.values() for leaf in _leaves(each)]
