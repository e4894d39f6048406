"""Projects of small tables, and the library with the arguments of a project's params.yaml."""

import re
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
from ruamel.yaml import YAML

import concord as cc
from concord.metrics_core.comparison.replicate_config import match_replicates
from concord.metrics_core.metrics.label import expand
from concord.metrics_core.results.stored import to_json
from tests.project import change_params, copied, copied_from, run_all_stages, run_stages

COMPARISON = "results/comparison/comparison.json"
# A setting in a warning, as it is written in params.yaml or in Python.
SETTING = re.compile(r'"setting": "(?:[^"\\]|\\.)*"')


def evaluated_project(
    folder: Path,
    tables: Mapping[str, pl.DataFrame],
    changes: Mapping[str, Any],
    *,
    files: Mapping[str, str] = MappingProxyType({}),
    last: str = "report",
) -> Path:
    """Return a project after its stages; `tables` are truth, train, items, users and models."""
    project = copied(folder)
    for name, text in files.items():
        (project / name).write_text(text, encoding="utf-8")
    paths = {name: {"path": f"{name}.parquet"} for name in tables}
    for name, table in tables.items():
        table.write_parquet(project / paths[name]["path"])
    background = {name: paths.pop(name) for name in ("train", "items", "users") if name in paths}
    change_params(
        project,
        {
            "data.truth": paths.pop("truth"),
            "models": paths,
            "background": background,
            "comparison.resamples": 99,
            "segments": {},
            **changes,
        },
    )
    run_all_stages(project, last=last)
    return project


def assert_library_gives_the_same(project: Path) -> None:
    """Assert that the stages and `cc.compare` give the same bytes, but for names of settings."""
    stored = (project / COMPARISON).read_text(encoding="utf-8")

    library = to_json(compared_as_pinned(project))
    assert SETTING.sub("", library) == SETTING.sub("", stored)


def assert_same_bits(project: Path, folder: Path, changes: Mapping[str, Any], *models: str) -> None:
    """Assert that models evaluated and compared again with other params give the same bytes."""
    copy = copied_from(project, folder)
    change_params(copy, changes)
    run_stages(copy, *(f"evaluate {model}" for model in models), "compare")

    assert (copy / COMPARISON).read_bytes() == (project / COMPARISON).read_bytes()


def compared_as_pinned(project: Path) -> cc.results.Comparison:
    """Return `cc.compare` of the files that params.yaml names."""
    params = _params(project)
    evaluation, comparison = params["evaluation"], dict(params["comparison"])
    models, truth = _lists_and_truth(params, comparison.pop("replicates", {}))
    with chdir(project):
        labels = [str(label) for label in expand(evaluation["metrics"], evaluation["ks"])]
        return cc.compare(
            models,
            truth,
            metrics=labels,
            panel=evaluation["panel"],
            where=_filters(params),
            checks=params.get("checks"),
            **_options(params),
            **comparison,
        )


def cases_as_pinned(project: Path, model: str, versus: str) -> cc.results.Cases:
    """Return `cc.cases` of two models of params.yaml."""
    params = _params(project)
    comparison = params["comparison"]
    models, truth = _lists_and_truth(params, comparison.get("replicates", {}))
    with chdir(project):
        return cc.cases(
            models,
            truth,
            model=model,
            versus=versus,
            metrics=comparison["primary"],
            **_options(params),
        )


def audit_of_project(project: Path) -> cc.results.Audit:
    """Return `cc.audit` of the models of params.yaml."""
    params = _params(project)
    options = _options(params)
    models, truth = _lists_and_truth(params, params["comparison"].get("replicates", {}))
    tables = {name: options[name] for name in ("train", "items", "columns", "conventions")}
    with chdir(project):
        return cc.audit(models, truth, metrics=params["comparison"]["primary"], **tables)


def _params(project: Path) -> dict[str, Any]:
    params: dict[str, Any] = YAML(typ="safe").load(project / "params.yaml")
    return params


def _lists_and_truth(params: dict[str, Any], replicates: dict[str, Any]) -> tuple[Any, Any]:
    models = {name: entry["path"] for name, entry in params["models"].items()}
    for model, selected in match_replicates(replicates, list(models)).items():
        paths = {number: models.pop(name) for number, name in selected.items()}
        models[model] = {"replicates": paths}
    at = params["data"]["truth"]
    folds = {number: f"{at['path']}/{file}" for number, file in at.get("folds", {}).items()}
    return models, {"replicates": folds} if folds else at["path"]


def _filters(params: dict[str, Any]) -> dict[str, Any]:
    tables = {**params["models"], **params["background"], "truth": params["data"]["truth"]}
    return {name: entry["where"] for name, entry in tables.items() if "where" in entry}


def _options(params: dict[str, Any]) -> dict[str, Any]:
    background = params["background"]
    tables = {**params["models"], **background, "truth": params["data"]["truth"]}
    return {
        "conventions": params["conventions"],
        **{name: entry["path"] for name, entry in background.items() if name != "metrics"},
        "columns": {name: entry["columns"] for name, entry in tables.items() if "columns" in entry},
        "segments": params["segments"],
        "title": params["report"]["title"],
        "unit": params["data"].get("unit", ()),
    }
