"""The library, asked what params.yaml of a project asks."""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

import concord as cc
from concord.metrics_core.comparing.evidence.replicating import named_by
from concord.metrics_core.metrics.catalogue import expand


def compared_as_pinned(project: Path) -> cc.Comparison:
    """`cc.compare` on the files that params.yaml names; the project must be the working directory."""
    params = _params(project)
    evaluation, comparison = params["evaluation"], dict(params["comparison"])
    models, truth = _lists_and_truth(params, comparison.pop("replicates", {}))
    return cc.compare(
        models,
        truth,
        metrics=[str(label) for label in expand(evaluation["metrics"], evaluation["ks"])],
        panel=evaluation["panel"],
        **_how(params),
        **comparison,
    )


def cases_as_pinned(project: Path, model: str, versus: str) -> cc.Cases:
    """`cc.cases` of two models of params.yaml."""
    params = _params(project)
    comparison = params["comparison"]
    models, truth = _lists_and_truth(params, comparison.get("replicates", {}))
    return cc.cases(models, truth, model=model, versus=versus, metrics=comparison["primary"], **_how(params))  # fmt: skip


def audited_as_pinned(project: Path) -> cc.Audit:
    """`cc.audit` of the models of params.yaml."""
    params = _params(project)
    options = _how(params)
    models, truth = _lists_and_truth(params, params["comparison"].get("replicates", {}))
    tables = {name: options[name] for name in ("train", "items", "columns", "conventions")}
    return cc.audit(models, truth, metrics=params["comparison"]["primary"], **tables)


def _params(project: Path) -> dict[str, Any]:
    params: dict[str, Any] = YAML(typ="safe").load(project / "params.yaml")
    return params


def _lists_and_truth(params: dict[str, Any], replicates: dict[str, Any]) -> tuple[Any, Any]:
    models = {name: entry["path"] for name, entry in params["models"].items()}
    for model, named in named_by(replicates, list(models)).items():
        paths = {number: models.pop(name) for number, name in named.items()}
        models[model] = {"replicates": paths}
    at = params["data"]["truth"]
    folds = {number: f"{at['path']}/{file}" for number, file in at.get("folds", {}).items()}
    return models, {"replicates": folds} if folds else at["path"]


def _how(params: dict[str, Any]) -> dict[str, Any]:
    background = params["background"]
    tables = {**params["models"], **background, "truth": params["data"]["truth"]}
    return {
        "conventions": params["conventions"],
        **{name: entry["path"] for name, entry in background.items()},
        "columns": {name: entry["columns"] for name, entry in tables.items() if "columns" in entry},
        "segments": params["segments"],
        "title": params["report"]["title"],
        "unit": params["data"].get("unit", ()),
    }
