"""Content of an MLflow store after the stage `log`, and an interrupted client."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Run

RunsByName = dict[str, list[Run]]


@dataclass(frozen=True)
class Logged:
    """A project after its results were logged twice, with both summaries."""

    folder: Path
    client: MlflowClient
    outputs: tuple[str, ...]

    def run(self, name: str) -> Run:
        (run,) = runs_of(self.client)[name]
        return run


def runs_of(client: MlflowClient, name: str = "demo") -> RunsByName:
    """Return the runs of the experiment by name, the newest first."""
    experiment = client.get_experiment_by_name(name)
    assert experiment is not None
    results: dict[str, list[Run]] = {}
    for run in client.search_runs([experiment.experiment_id]):
        results.setdefault(run.data.tags["mlflow.runName"], []).append(run)
    return results


def statuses(client: MlflowClient, experiment: str = "demo") -> dict[str, list[str]]:
    """Return run name -> the status of each of its runs."""
    actual = runs_of(client, experiment)
    return {name: [run.info.status for run in runs] for name, runs in actual.items()}


def assert_logged_once(client: MlflowClient, experiment: str = "demo") -> None:
    """Assert that every run is finished and has each point once."""
    (als,) = runs_of(client, experiment)["als"]
    assert statuses(client, experiment) == {
        name: ["FINISHED"] for name in ("comparison", "popularity", "als")
    }
    assert points(client, als, "accuracy/ndcg_at_10") == [(0, 0.40)]
    assert points(client, als, "by_k/ndcg") == [(5, 0.36), (10, 0.40)]
    assert [file.path for file in client.list_artifacts(als.info.run_id, "metrics")] == [
        "metrics/als.json"
    ]


def points(client: MlflowClient, run: Run, key: str) -> list[tuple[int, float]]:
    return [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, key)]


def client_interrupted_at(step: str, uri: str) -> MlflowClient:
    """Return a client that the user interrupts at `step`."""

    class Interrupted(MlflowClient):
        pass

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    setattr(Interrupted, step, stop)
    return Interrupted(tracking_uri=uri)
