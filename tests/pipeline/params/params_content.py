"""The content of a params.yaml for tests: two tables, few resamples, nothing that is optional."""

from collections.abc import Mapping, Sequence
from typing import Any

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.pipeline.params.model import Results

OF_LISTS = ("data", "background", "input", "evaluation", "segments", "conventions")  # sections
INPUT = {
    "rank_base": 1,
    "empty_lists": "error",
    "nan_score": "error",
    "negative_grade": "error",
    "repeated_grade": "error",
    "unknown_items": "error",
    "allow_outside": False,
}


def params_content(
    models: Mapping[str, Any],
    metrics: Sequence[str],
    ks: Sequence[int],
    **changes: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the content, the first model as baseline; `changes` are changed keys by section."""
    sections: dict[str, dict[str, Any]] = {
        "data": {"truth": {"path": "truth.parquet"}},
        "background": {},
        "models": dict(models),
        "input": INPUT,
        "evaluation": {
            "metrics": list(metrics),
            "ks": list(ks),
            "engine": "duckdb",
            "rows_per_partition": 1000,
            "panel": False,
        },
        "comparison": {
            "baseline": next(iter(models)),
            "primary": [f"{metrics[0]}@{ks[0]}"],
            "confidence": 0.95,
            "min_effect": 0.005,
            "wilcoxon": False,
            "resamples": 199,
            "seed": 1,
        },
        "segments": {},
        "conventions": preset("standard").as_dict(),
        "report": {"title": "Demo shop"},
        "mlflow": {
            "tracking_uri": "sqlite:///mlflow.db",
            "experiment": "demo",
            "required": True,
            "attach": "child",
        },
        "results": {folder: f"results/{folder}" for folder in Results.model_fields},
    }
    merged = {name: {**section, **changes.get(name, {})} for name, section in sections.items()}
    return {"values_version": VALUES_VERSION, **merged}


def value_params_content(
    models: Mapping[str, Any], metrics: Mapping[str, Any], **changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the content for values of another tool; the first metric is primary."""
    primary = {"primary": [next(iter(metrics))], **changes.get("comparison", {})}
    content = params_content(models, ["none"], [1], **{**changes, "comparison": primary})
    for section in OF_LISTS:
        del content[section]
    return {**content, "metrics": dict(metrics), "gate": {}}
