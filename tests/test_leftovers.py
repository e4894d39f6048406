"""What params.yaml no longer names leaves no file behind: a colleague's clone has nothing to compute."""

from pathlib import Path

import pytest

from tests.project import (
    change_params,
    commit_results,
    copied,
    run,
    run_all_stages,
    stages_to_run,
)

pytestmark = pytest.mark.whole

MODELS = {
    "popularity": {
        "path": "data/demo/popularity.csv",
        "columns": {"user": "customer", "item": "product", "rank": "position"},
    },
    "als": {"path": "data/demo/als.run.gz"},
    "ease": {"path": "data/demo/ease.jsonl.gz"},
}
SMALL = {
    "models": MODELS,
    "background": {"users": {"path": "data/demo/users.parquet"}},
    "segments": {},
    "evaluation.metrics": ["nDCG"],
    "evaluation.ks": [10],
    "evaluation.panel": False,
    "comparison.primary": ["nDCG@10"],
    "comparison.resamples": 99,
}
LESS = {"models": {name: MODELS[name] for name in ("popularity", "als")}, "background": {}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All stages ran; then a model and the users left params.yaml."""
    made = copied(tmp_path_factory.mktemp("leftovers"))
    change_params(made, SMALL)
    run_all_stages(made, last="compare")
    (made / "results/data/notes.txt").write_text("mine", encoding="utf-8")
    change_params(made, LESS)
    return made


def test_the_results_are_what_params_yaml_says(project: Path) -> None:
    assert (project / "results/data/users.parquet").is_file()

    said = run_all_stages(project, last="compare")

    assert "removed 2 result files of users, which params.yaml no longer names" in said
    assert "result files of ease, which params.yaml no longer names" in said
    results = project / "results"
    left = {path.stem for path in results.rglob("*") if path.is_file()}
    assert not left & {"users", "ease"}
    assert (results / "data/notes.txt").is_file()  # not Concord's


def test_a_clone_computes_nothing(project: Path, tmp_path: Path) -> None:
    (project / "results/data/notes.txt").unlink(missing_ok=True)
    run_all_stages(project)
    commit_results(project)
    run(project, "dvc", "remote", "add", "--force", "-d", "store", str(tmp_path / "store"))
    run(project, "dvc", "push")
    me = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    run(project, "git", "add", "-A")
    run(project, "git", *me, "commit", "-qm", "results")

    clone = tmp_path / "clone"
    run(project, "git", "clone", "-q", str(project), str(clone))
    run(clone, "dvc", "pull")

    assert stages_to_run(clone) == {"log"}  # its MLflow knows nothing yet
