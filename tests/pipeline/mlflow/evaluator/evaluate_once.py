"""Evaluate a small frame with any MLflow, and return or print the content of the run."""

import json
import sys
from typing import Any

import mlflow
import pandas as pd
from mlflow import MlflowClient

FRAME = pd.DataFrame(
    {
        "customer": ["ann", "bob"],
        "recs": [["a", "b", "c"], ["d", "e", "f"]],
        "truth": [["b"], ["x"]],
    }
)
CONFIG = {"preset": "standard", "metrics": ["RR@3", "RR@1"], "user": "customer", "per_user": True}


def evaluate_once(kind: str) -> dict[str, Any]:
    """Return the content of the run of an evaluation in the current tracking store."""
    evaluate: Any = mlflow.evaluate if kind == "mlflow.evaluate" else mlflow.models.evaluate
    with mlflow.start_run() as run:
        result = evaluate(
            data=FRAME,
            predictions="recs",
            targets="truth",
            model_type="ranker",
            evaluators="concord",
            evaluator_config=CONFIG,
        )
    client = MlflowClient()
    run_data = client.get_run(run.info.run_id)
    history = client.get_metric_history(run.info.run_id, "by_k/rr")
    return {
        "version": mlflow.__version__,
        "metrics": run_data.data.metrics,
        "curve": [[point.step, point.value] for point in history],
        "returned": result.metrics,
        "artifacts": sorted(result.artifacts),
        "files": sorted(file.path for file in client.list_artifacts(run.info.run_id, "concord")),
        "per_user": result.artifacts["per_user"].content.to_dict("list"),
        "status": run_data.info.status,
    }


if __name__ == "__main__":
    uri, artifacts, name = sys.argv[1:]
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment(experiment_id=MlflowClient().create_experiment("shop", artifacts))
    print(json.dumps(evaluate_once(name)))
