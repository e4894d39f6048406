"""A project whose models have values of another tool."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from ruamel.yaml import YAML

from concord.pipeline.init.render import dvc_yaml
from tests.pipeline.params.params_content import value_params_content
from tests.project import run

METRICS: dict[str, dict[str, Any]] = {
    "faithfulness": {"higher_is_better": True, "bounds": [0, 1]},
    "latency_ms": {"higher_is_better": False},
}
MODELS: dict[str, dict[str, Any]] = {
    "large": {"values": "runs/large.csv", "columns": {"user": "sample_id"}},
    "small": {"values": "runs/small.parquet", "columns": {"latency_ms": "latency (ms)"}},
    "tuned": {"values": "runs/tuned.jsonl"},
}


def samples(model: str, n: int = 60) -> pl.DataFrame:
    """Return values of a model, some of them undefined, of samples in no order."""
    rng = np.random.default_rng(sum(model.encode()))
    faithfulness = pl.Series(np.clip(rng.normal(0.6, 0.2, n), 0, 1))
    return pl.DataFrame(
        {
            "user": [f"s{number}" for number in rng.permutation(n)],
            "faithfulness": faithfulness.scatter([1, 2], None),
            "latency_ms": rng.integers(100, 2_000, n),
        }
    )


def write_samples(project: Path, values: Mapping[str, pl.DataFrame]) -> None:
    """Write the files of MODELS, each in its format and with its names of columns."""
    folder = project / "runs"
    folder.mkdir(exist_ok=True)
    values["large"].rename({"user": "sample_id"}).write_csv(folder / "large.csv")
    small = values["small"].rename({"latency_ms": "latency (ms)"})
    small.with_columns(answer=pl.lit("no number")).write_parquet(folder / "small.parquet")
    values["tuned"].rename({"user": "question"}).write_ndjson(folder / "tuned.jsonl")


def values_project(folder: Path, **changes: Mapping[str, Any]) -> Path:
    """Return a project of three models in a git repository with DVC, without results."""
    project = folder / "a project"
    project.mkdir()
    write_samples(project, {model: samples(model) for model in MODELS})
    write_params(project, value_params_content(MODELS, METRICS, **changes))
    (project / "dvc.yaml").write_text(dvc_yaml(models="values"))
    run(project, "git", "init", "-q")
    run(project, "dvc", "init", "-q")
    return project


def write_params(project: Path, content: Mapping[str, Any]) -> None:
    YAML().dump(content, project / "params.yaml")
