"""The library, asked what params.yaml of a project asks."""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

import concord as cc
from concord.metrics_core.comparing.evidence.replicating import named_by
from concord.metrics_core.metrics.catalogue import expand


def compared_as_pinned(project: Path) -> cc.Comparison:
    """`cc.compare` on the files that params.yaml names; the project must be the working directory."""
    params: dict[str, Any] = YAML(typ="safe").load(project / "params.yaml")
    background, evaluation = params["background"], params["evaluation"]
    comparison = dict(params["comparison"])
    models = {name: entry["path"] for name, entry in params["models"].items()}
    for model, named in named_by(comparison.pop("replicates", {}), list(models)).items():
        paths = {number: models.pop(name) for number, name in named.items()}
        models[model] = {"replicates": paths}
    at = params["data"]["truth"]
    folds = {number: f"{at['path']}/{file}" for number, file in at.get("folds", {}).items()}
    tables = {**params["models"], **background, "truth": at}
    return cc.compare(
        models,
        {"replicates": folds} if folds else at["path"],
        metrics=[str(label) for label in expand(evaluation["metrics"], evaluation["ks"])],
        conventions=params["conventions"],
        **{name: entry["path"] for name, entry in background.items()},
        columns={name: entry["columns"] for name, entry in tables.items() if "columns" in entry},
        segments=params["segments"],
        title=params["report"]["title"],
        panel=evaluation["panel"],
        unit=params["data"].get("unit", ()),
        **comparison,
    )
