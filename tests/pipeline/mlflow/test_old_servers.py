"""The stage `log` with this client of MLflow and older servers, each in its own environment."""

from pathlib import Path

import pytest
from mlflow import MlflowClient

from concord.pipeline.mlflow.log import log_again, not_logged_reason
from concord.pipeline.mlflow.log import main as log
from tests.installed.environments import packages
from tests.pipeline.mlflow.log_project import params_of, write_project
from tests.pipeline.mlflow.mlflow_server import mlflow_server
from tests.pipeline.mlflow.stores import points, runs_of, statuses

VERSIONS = ("2.14", "2.22")  # also in docs/reference/versions.md
pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("version", VERSIONS)
def test_an_old_server_gets_all_results_once(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = [f"mlflow=={version}.*", "sqlalchemy<2.1", "setuptools<80"]
    python = str(packages(f"mlflow-{version}", needs) / "bin/python")
    monkeypatch.chdir(tmp_path)
    with mlflow_server(tmp_path / "server", python=python) as address:
        params = params_of(write_project(tmp_path, uri=f"http://{address}"))
        log(params)
        log_again()

        assert not_logged_reason(params) is None
        client = MlflowClient(tracking_uri=f"http://{address}")
        (als,) = runs_of(client)["als"]
        assert [*statuses(client).values()] == [["FINISHED"]] * 3
        assert points(client, als, "by_k/ndcg") == [(5, 0.36), (10, 0.40)]
        files = (tmp_path / "server/artifacts").rglob("*.*")
        assert {"als.json", "report.html", "comparison.json"} <= {file.name for file in files}
