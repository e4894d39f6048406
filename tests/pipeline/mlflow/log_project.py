"""A finished evaluation on disk for the stage `log`: two models, two cutoffs, small numbers."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.results.stored import to_json
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.outputs import write_json, write_text
from tests.metrics_core.analyses.study.study_data import comparison_of
from tests.pipeline.params.params_content import params_content

ROOT = Path(__file__).parents[3]
MEANS: dict[str, dict[str, float | None]] = {
    "popularity": {"nDCG@5": 0.30, "nDCG@10": 0.35, "RBP(p=0.8)@10": 0.25, "Rprec": None},
    "als": {"nDCG@5": 0.36, "nDCG@10": 0.40, "RBP(p=0.8)@10": 0.28, "Rprec": 0.2},
}

TRUTH = {
    "rows": 90,
    "users": 40,
    "items": 30,
    "user_type": "text",
    "item_type": "integer",
    "grades": {"1": 90},
}
LISTS = {
    "rows": 400,
    "users": {"evaluated": 40, "in_lists": 39},
    "items": 25,
    "user_type": "text",
    "item_type": "integer",
    "has_scores": True,
}


def write_project(
    root: Path,
    *,
    uri: str = "sqlite:///mlflow.db",
    experiment: str = "demo",
    means: Mapping[str, Mapping[str, float | None]] = MEANS,
    training: Mapping[str, Any] | None = None,
    **mlflow: Any,
) -> Path:
    """Write params.yaml and all results of a project to `root`.

    `training` maps models to training runs; `mlflow` has further keys of that section.
    """
    trained = {model: {"training_run_id": run_id} for model, run_id in (training or {}).items()}
    conventions = preset("standard").as_dict()
    root.mkdir(parents=True, exist_ok=True)
    params = params_content(
        {model: {"path": f"data/{model}.csv", **trained.get(model, {})} for model in means},
        ["nDCG", "RBP(p=0.8)@10", "Rprec"],
        [5, 10],
        data={"truth": {"path": "data/truth.parquet"}},
        comparison={"primary": ["nDCG@10"]},
        mlflow={"tracking_uri": uri, "experiment": experiment, **mlflow},
    )
    write_json(root / "params.yaml", params)  # JSON is YAML
    for model, values in means.items():
        write_json(root / f"results/metrics/{model}.json", values)
        write_json(root / f"results/summary/{model}.json", _summary(model, values, conventions))
    write_json(root / "results/comparison/comparison.json", _comparison(means))
    write_text(root / "results/comparison/decision.concord", "values\n")
    write_text(root / "results/report/report.html", "<p>Demo shop</p>\n")
    write_text(root / "results/report/report.md", "# Demo shop\n")
    return root


def params_of(root: Path) -> Params:
    return read_params(root / "params.yaml")


def start_log(root: Path, **variables: str) -> subprocess.Popen[str]:
    """Start the stage in its own process, as DVC does."""
    return subprocess.Popen(
        [sys.executable, "-m", "concord", "stage", "log"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _summary(model: str, means: Mapping[str, float | None], conventions: Any) -> dict[str, Any]:
    spread = {"ci_low": 0.3, "ci_high": 0.5, "n_users": 40, "n_undefined": 2}
    return {
        "model": model,
        "values_version": VALUES_VERSION,
        "fingerprint": preset("standard").fingerprint,
        "conventions": conventions,
        "metrics": {label: {"mean": mean, **spread} for label, mean in means.items()},
        "users": {"evaluated": 1042, "without_list": 3 if model == "als" else 0},
        "inputs": {
            "truth": {"path": "data/truth.parquet", "sha256": "a" * 64, "md5": "a" * 32},
            "lists": {"path": f"data/{model}.csv", "sha256": "b" * 64, "md5": "b" * 32},
        },
        "versions": {"concord-eval": "0.1.0", "python": "3.11"},
    }


def _comparison(means: Mapping[str, Mapping[str, float | None]]) -> dict[str, Any]:
    """Return the content of a comparison of models with these means of nDCG@10."""
    comparison = comparison_of({model: values["nDCG@10"] or 0 for model, values in means.items()})
    quality = {"truth": TRUTH, **dict.fromkeys(means, LISTS)}
    return {**json.loads(to_json(comparison)), "quality": quality}
