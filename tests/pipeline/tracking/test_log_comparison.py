"""The run of a comparison carries the report and names the runs of its models, against a real sqlite store."""

import shutil
from pathlib import Path

import pytest
from mlflow import MlflowClient

from concord.pipeline.tracking.log import log
from tests.pipeline.tracking.log_project import MEANS, params_of, write_project
from tests.pipeline.tracking.stores import Found, runs_of

THREE = {**MEANS, "twin": MEANS["als"]}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> Found:
    """The runs after two models, then three, then the two again were logged."""
    folder = tmp_path_factory.mktemp("comparison")
    shutil.copy(empty_store, folder / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DVC_ROOT", raising=False)
        patch.chdir(folder)
        for means in (MEANS, THREE, MEANS):
            log(params_of(write_project(folder, means=means)))
    return runs_of(MlflowClient(tracking_uri=f"sqlite:///{folder}/mlflow.db"))


def test_adding_a_model_leaves_the_runs_of_the_others_alone(found: Found) -> None:
    assert {name: len(runs) for name, runs in found.items()} == {
        "comparison": 2,
        "popularity": 1,
        "als": 1,
        "twin": 1,
    }
    assert all(run.info.status == "FINISHED" for runs in found.values() for run in runs)


def test_all_runs_lie_side_by_side_and_every_comparison_names_its_models(found: Found) -> None:
    second, first = found["comparison"]  # the newest first
    (als,), (twin,) = found["als"], found["twin"]

    every = [run for runs in found.values() for run in runs]
    assert [run for run in every if "mlflow.parentRunId" in run.data.tags] == []
    assert second.data.tags["concord.run.als"] == als.info.run_id
    assert second.data.tags["concord.run.twin"] == twin.info.run_id
    assert first.data.tags["concord.run.als"] == als.info.run_id
    assert "concord.run.twin" not in first.data.tags
    assert second.data.params["models"] == "popularity, als, twin"


def test_the_comparison_carries_the_report(found: Found) -> None:
    (_, first) = found["comparison"]
    folder = Path(first.info.artifact_uri.removeprefix("file://"))

    assert {file.name for file in folder.iterdir()} == {
        "report.html",
        "report.md",
        "comparison.json",
    }


def test_a_run_that_was_deleted_is_logged_again_and_named_anew(
    project: Path, client: MlflowClient
) -> None:
    params = params_of(project)
    log(params)
    (before,) = runs_of(client)["als"]
    client.delete_run(before.info.run_id)
    log(params)

    (after,) = runs_of(client)["als"]
    (comparison,) = runs_of(client)["comparison"]
    assert after.info.run_id != before.info.run_id
    assert comparison.data.tags["concord.run.als"] == after.info.run_id
