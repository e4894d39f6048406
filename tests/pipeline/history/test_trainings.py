"""`concord history`, `diff` and `gate` of a model that was trained several times, in a real project of three commits."""

import json
from contextlib import chdir
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest

from concord.pipeline.history.history import history
from tests.pipeline.revisions import evaluate_and_commit, scored_lists, without_code
from tests.project import attempt, change_params, copied, copied_from, made_once, run

pytestmark = pytest.mark.whole

LABEL = "nDCG@10"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    made = made_once(tmp_path_factory, worker_id, trainings_project) / "a project"
    return copied_from(made, tmp_path_factory.mktemp("trainings"))


def trainings_project(folder: Path) -> None:
    """`models`: three lists, each a model; `one`: they are trainings of one; `more`: a fourth."""
    project = copied(folder)
    without_code(project)
    lists = scored_lists(project)
    for seed in range(1, 5):
        noise = pl.Series(np.random.default_rng(seed).normal(0, 0.1, len(lists)))
        trained = lists.with_columns(pl.col("score") + noise)
        trained.write_parquet(project / f"data/demo/ease-{seed}.parquet")
    settings = {"comparison.baseline": "knn", "comparison.primary": [LABEL], "segments": {}, "background": {}}  # fmt: skip
    asked = {"evaluation.metrics": ["nDCG"], "evaluation.ks": [10], "evaluation.panel": False}
    change_params(project, settings | asked | _models(3))
    _evaluated(project, "models", "knn", "ease-1", "ease-2", "ease-3")
    change_params(project, _numbered(3))
    _evaluated(project, "one")
    change_params(project, _models(4) | _numbered(4))
    gate = {"guardrails": {LABEL: 0.5}, "models": ["ease"]}
    change_params(project, {"gate": gate})
    _evaluated(project, "more", "ease-4")


def _models(seeds: int) -> dict[str, Any]:
    trained = {f"ease-{n}": {"path": f"data/demo/ease-{n}.parquet"} for n in range(1, seeds + 1)}
    return {"models": {"knn": {"path": "data/demo/item-knn.parquet"}, **trained}}


def _numbered(seeds: int) -> dict[str, Any]:
    return {"comparison.replicates": {"ease": {n: f"ease-{n}" for n in range(1, seeds + 1)}}}


def _evaluated(project: Path, name: str, *models: str) -> None:
    stages = [*(f"load {m}" for m in models), *(f"evaluate {m}" for m in models), "compare"]
    if name == "models":
        stages = ["load-truth", *stages, "report"]
    evaluate_and_commit(project, name, *stages)
    run(project, "git", "tag", name)


def _history(project: Path, model: str) -> list[dict[str, Any]]:
    with chdir(project):
        return [row for row in history().table.to_dicts() if row["model"] == model]


def _diff(project: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(project, "concord", "diff", *arguments, "--json"))
    return found


def test_a_model_is_held_against_its_former_trainings_together(project: Path) -> None:
    columns = [
        pl.read_parquet(project / f"results/per_user/ease-{n}.parquet")[LABEL].to_list()
        for n in range(1, 5)
    ]
    now, then = ([fmean(row) for row in zip(*columns[:n], strict=True)] for n in (4, 3))
    expected = fmean(a - b for a, b in zip(now, then, strict=True))

    for revision in ("one", "models"):
        found = _diff(project, revision)
        (ease,) = [row for row in found["changes"] if row["model"] == "ease"]
        assert ease["difference"] == pytest.approx(expected, abs=1e-12)
    assert _history(project, "ease")[-1]["change"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("revision", ["one", "models"])
def test_trainings_are_named_where_they_are_new_and_no_longer_models_nowhere(
    project: Path, revision: str
) -> None:
    note = f"trainings that are not in {revision}: ease-4"
    gated = attempt(project, "concord", "gate", revision, "--json")

    assert _diff(project, revision)["notes"] == [note]
    assert gated.returncode == 0, gated.stderr
    assert note in json.loads(gated.stdout)["notes"]
    assert not [each for each in json.loads(gated.stdout)["notes"] if "no longer" in each]


def test_a_training_is_no_model_and_the_fix_names_the_model(project: Path) -> None:
    refused = attempt(project, "concord", "diff", "one", "--model", "ease-1")

    assert refused.returncode == 2
    assert "fix: did you mean 'ease'?" in refused.stderr


def test_a_gate_refuses_only_a_model_of_which_the_revision_has_nothing(project: Path) -> None:
    kept = (project / "params.yaml").read_bytes()
    change_params(project, {"comparison.replicates": {"new": {1: "ease-4", 2: "ease-3"}}, "gate.models": ["new"]})  # fmt: skip
    some = attempt(project, "concord", "gate", "one")
    change_params(project, _models(4) | {"comparison.replicates": {}, "gate.models": ["ease-4"]})
    none = attempt(project, "concord", "gate", "one")
    (project / "params.yaml").write_bytes(kept)

    assert "trainings that are not in one: ease-4" in some.stdout, some.stderr
    assert none.returncode == 2
    assert "one has no results of ease-4" in none.stderr


def test_a_model_is_one_decision_whether_or_not_its_results_are_in_the_cache(
    project: Path,
) -> None:
    """Three models, then one of their lists, then one of four."""
    cache, aside = project / ".dvc/cache/files", project / ".dvc/aside"
    with chdir(project):
        there = history().reuse
        cache.rename(aside)
        gone = history().reuse
        aside.rename(cache)

    assert there is not None
    assert (there.comparisons, there.decisions) == (3, 5)
    assert gone == there


def test_history_says_where_a_shown_model_has_trainings_that_no_interval_covers(
    project: Path,
) -> None:
    said = "intervals and verdicts are over users: other trainings of ease are not in them"
    with chdir(project):
        assert history().notes == history("models").notes == (said,)
    assert f"note: {said}" in run(project, "concord", "history", COLUMNS="200")

    run(project, "git", "checkout", "-q", "models")
    with chdir(project):
        notes = history().notes
    run(project, "git", "checkout", "-q", "-")
    assert notes == ()


def test_a_gate_says_that_it_decides_over_users(project: Path) -> None:
    said = "decided over users: other trainings of ease are not in the intervals"

    for revision in ([], ["one"]):
        assert f"note: {said}" in run(project, "concord", "gate", *revision, COLUMNS="200")
    kept = (project / "params.yaml").read_bytes()
    change_params(project, {"gate.models": ["knn"]})
    of_another = run(project, "concord", "gate", "one")
    (project / "params.yaml").write_bytes(kept)
    assert said not in of_another
