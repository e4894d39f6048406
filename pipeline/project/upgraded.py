"""A project that another version of Concord made, as this one would make it; what people wrote is kept."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from concord.pipeline.params.model import PARAMS
from concord.pipeline.project.chosen import NEEDS
from concord.pipeline.project.written import dvc_yaml, params_yaml

OWN = {"segments", "background", "models"}  # sections whose keys are the user's
_USUAL: Mapping[str, Any] = {
    "columns": {}, "truth": {"path": "truth.parquet", "columns": {}}, "background": {}, "models": {},
    "metrics": [], "ks": [], "baseline": "", "primary": [], "min_effect": 0, "segments": (), "threshold": 1,
    "highest": 1, "title": "", "experiment": "", "tracking_uri": "", "NEEDS": NEEDS,
}  # fmt: skip


def upgraded(project: Path, version: str, *, mlflow: bool) -> dict[Path, str]:
    """The texts of params.yaml and dvc.yaml."""
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, 10_000
    content = yaml.load((project / PARAMS).read_text(encoding="utf-8"))
    usual = yaml.load(params_yaml(_USUAL, version))
    _fill(content, usual)
    if "concord" in content:
        content["concord"] = version
    else:
        content.insert(0, "concord", version)
    text = io.StringIO()
    yaml.dump(content, text)
    trained = [
        name
        for name, model in content["models"].items()
        if isinstance(model.get("training_run_id"), Mapping)
    ]
    return {
        project / PARAMS: text.getvalue(),
        project / "dvc.yaml": dvc_yaml(mlflow=mlflow, trained=trained),
    }


def _fill(content: Any, usual: Any) -> None:
    """Keys that this version asks for and the file lacks, with their usual values."""
    for key, value in usual.items():
        if key not in content:
            content[key] = value
        elif isinstance(value, Mapping) and key not in OWN and isinstance(content[key], Mapping):
            _fill(content[key], value)
