"""Folders of results are their own: not one another's, no input's, nothing of git's, DVC's, MLflow's or the code's."""

import shutil
from pathlib import Path

import pytest

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.params.read import read_params
from tests.pipeline.refusals import refusal_of
from tests.project import ROOT, attempt, copied

DEMO = (ROOT / "params.yaml").read_text(encoding="utf-8")
RESULTS = DEMO.index("\nresults:")


def _refused(folder: Path, key: str, place: str) -> str:
    (folder / "pipeline").mkdir(exist_ok=True)
    (folder / "pipeline/__init__.py").touch()
    (folder / "README.md").touch()
    head, results = DEMO[:RESULTS], DEMO[RESULTS:]
    assert f"  {key}: results/{key}\n" in results
    text = head + results.replace(f"  {key}: results/{key}\n", f"  {key}: {place}\n")
    (folder / "params.yaml").write_text(text, encoding="utf-8")
    return refusal_of(lambda: read_params(folder / "params.yaml")).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("key", "place", "message"),
    [
        ("panel", "results/per_user", "results.panel: 'results/per_user' is, holds or lies in `results.per_user`"),
        ("panel", "results/per_user/deeper", "is, holds or lies in `results.per_user`"),
        ("panel", "./results//lists/../per_user", "is, holds or lies in `results.per_user`"),
        ("panel", "Results/Per_User", "is, holds or lies in `results.per_user`"),
        ("report", "results", "is, holds or lies in `results.data` and 7 more"),
        ("lists", "data", "results.lists: 'data' is, holds or lies in `data.truth.path` and 8 more"),
        ("lists", "data/demo/ease-recent/x", "is, holds or lies in `models.ease-recent.path`"),
        ("lists", "data/demo/truth.parquet", "is, holds or lies in `data.truth.path`"),
        ("lists", ".git", "'.git' is hidden, as what git, DVC and other tools keep is"),
        ("lists", ".dvc/cache", "'.dvc/cache' is hidden"),
        ("lists", "results/.git", "'results/.git' is hidden"),
        ("lists", "pipeline", "'pipeline' is a folder of code"),
        ("lists", "pipeline/lists", "'pipeline/lists' is a folder of code"),
        ("lists", "mlruns/1", "'mlruns/1' is where MLflow keeps its own"),
        ("lists", "mlflow.db", "is where MLflow keeps its own"),
        ("lists", "README.md/lists", "'README.md/lists' leads through a file, README.md"),
        ("lists", "''", "results.lists: is ''"),
    ],
)  # fmt: skip
def test_a_place_that_is_not_free_is_refused(
    tmp_path: Path, key: str, place: str, message: str
) -> None:
    told = _refused(tmp_path, key, place)

    assert message in told
    assert "  fix: " in told


def test_a_link_to_the_folder_of_another_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "results/per_user").mkdir(parents=True)
    (tmp_path / "elsewhere").symlink_to("results/per_user")

    assert "is, holds or lies in `results.per_user`" in _refused(tmp_path, "panel", "elsewhere")


@pytest.mark.parametrize(
    "address", ["sqlite:///results/comparison/mlflow.db", "file:./results/comparison", "results"]
)
def test_mlflow_keeps_nothing_where_dvc_clears_away(tmp_path: Path, address: str) -> None:
    text = DEMO.replace("sqlite:///mlflow.db", address)
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(InputError, match=r"is, holds or lies in `mlflow\.tracking_uri`"):
        read_params(tmp_path / "params.yaml")


@pytest.mark.parametrize(
    "address", ["sqlite:///mlflow.db", "file:./mlruns", "http://127.0.0.1:5000", "http://[::1", "file:."]
)  # fmt: skip
def test_other_places_of_mlflow_pass(tmp_path: Path, address: str) -> None:
    text = DEMO.replace("sqlite:///mlflow.db", address)
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")

    assert read_params(tmp_path / "params.yaml").mlflow.tracking_uri == address


def test_an_input_is_never_overwritten(tmp_path: Path) -> None:
    project = copied(tmp_path)
    shutil.copy(project / "data/demo/item-knn.parquet", project / "data/als.parquet")
    before = (project / "data/als.parquet").read_bytes()
    text = (project / "params.yaml").read_text()
    text = text.replace("data/demo/als.run.gz", "data/als.parquet")
    (project / "params.yaml").write_text(text.replace("lists: results/lists", "lists: data"))

    done = attempt(project, "python", "-m", "concord", "stage", "load", "als")

    assert done.returncode == 2
    assert (project / "data/als.parquet").read_bytes() == before
