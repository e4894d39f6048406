"""dvc.yaml and params.yaml of a project, from their templates."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from concord.metrics_core.conventions.presets import STANDARD, preset
from concord.metrics_core.conventions.registry import PRESET_CONVENTIONS
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.files import schema_address
from concord.pipeline.params.values import ModelKind
from concord.pipeline.params.yaml_files import load_yaml

TEMPLATES = Path(__file__).parent / "templates"
GITIGNORE = """# everything generated; the Markdown report and the primary metrics are kept in git
!/results/
/results/*
!/results/report/
/results/report/*
!/results/report/report.md
!/results/report/primary.json
/mlflow.db*
/.mlflow.db*
/mlruns/
/dvc_plots/
"""
DVCIGNORE = """.gitignore
.gitkeep
.DS_Store
__pycache__/
*.py[co]
.*.part
"""
_PLAIN = re.compile(r"[A-Za-z0-9_./%()@][A-Za-z0-9_./%()@= -]*")


_COMMENTS = {  # on conventions, instead of their allowed values
    "relevance_threshold": "lowest grade that counts as relevant | null: all rows of the ground "
    "truth",
    "err_max_grade": "the highest grade of your scale",
    "hlu_neutral": "grade without utility in half-life utility",
    "user_coverage_kind": "any | full: at least k items",
    "longtail_head": "share of the interactions in the head",
    "user_no_recs": "relevant items, no list: zero | one | drop | nan | error",
    "user_empty_truth": "a list, no relevant items",
    "user_recs_only": "a list, not in the ground truth",
    "user_both_empty": "neither",
    "undefined": "0/0 in the mean: skip | zero | propagate",
}


def params_yaml(content: Mapping[str, Any], optional: Collection[str] = ()) -> str:
    """Return the text of params.yaml.

    Of the conventions that files omit, it has those in `optional` and those of the preset.
    """
    values = {**STANDARD, **preset(content.get("preset", "standard")).as_dict()}
    if "preset" not in content:
        values["relevance_threshold"] = content.get("threshold", 1)
        values["err_max_grade"] = content.get("highest", 1)
    conventions = [
        (each.name, values[each.name], _COMMENTS.get(each.name, each.allowed_values()))
        for each in PRESET_CONVENTIONS
        if not each.omits_default or each.name in optional or values[each.name] != each.default
    ]
    template = _template("params.yaml.j2")
    return template.render(
        content,
        schema=schema_address("params"),
        values_version=VALUES_VERSION,
        conventions=conventions,
        overrides=values["overrides"],
    )


class NamedFiles(NamedTuple):
    """Files of params.yaml that dvc.yaml names by path.

    A reference to a key of a model would break every command of DVC once the model is removed.

    Attributes
    ----------
    run_id_files : list of str
        Files with the ids of training runs, each once.
    additional : list of str
        Files with more judgements.
    excluded : list of str
        The file with pairs of user and item that do not count, if there is one.
    """

    run_id_files: Sequence[str] = ()
    additional: Sequence[str] = ()
    excluded: Sequence[str] = ()

    @classmethod
    def of_params(cls, content: Mapping[str, Any]) -> "NamedFiles":
        """Return the files that params.yaml names."""
        models, data = content["models"].values(), content.get("data") or {}
        runs = (model.get("training_run_id") for model in models if isinstance(model, dict))
        files = (run.get("file") for run in runs if isinstance(run, dict))
        run_ids = list(dict.fromkeys(file for file in files if isinstance(file, str)))
        exclude = data.get("exclude")
        excluded = [exclude["path"]] if isinstance(exclude, Mapping) and "path" in exclude else []
        additional = (data.get("truth") or {}).get("additional") or ()
        return cls(run_ids, additional, excluded)


NO_FILES = NamedFiles()


OPTIONAL_KEYS = ("checks", "acknowledge")  # of params.yaml, that the stage `compare` reads


def dvc_yaml(
    files: NamedFiles = NO_FILES,
    *,
    mlflow: bool = True,
    optional: Collection[str] = (),
    models: ModelKind = "lists",
) -> str:
    """Return the text of dvc.yaml.

    Parameters
    ----------
    files : NamedFiles, optional
        Files that params.yaml names in places that no stage can refer to.
    mlflow : bool
        Whether there is a stage `log`.
    optional : collection of str
        The keys of params.yaml that it may lack and has: DVC refuses to depend on a missing key.
    models : {"lists", "values", "lists and values"}
        What the models have; without lists there is no ground truth.
    """
    paths = {  # DVC reads `${` as a key
        name: [flow(path.replace("${", "\\${")) for path in each]
        for name, each in files._asdict().items()
    }
    return _template("dvc.yaml.j2").render(
        mlflow=mlflow,
        optional=[key for key in OPTIONAL_KEYS if key in optional],
        models=models,
        values=models == "values",
        **paths,
    )


def plot_template() -> str:
    """Return the template of the plot in dvc.yaml, for the folder where DVC looks for it."""
    return (TEMPLATES / "model_lines.json").read_text(encoding="utf-8")


def is_mlflow_installed() -> bool:
    """True if MLflow is installed; without it there is no stage `log`."""
    return find_spec("mlflow") is not None


def flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(key)}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and load_yaml(value, "") == value:
        return value
    return f'"{"".join(map(_escape, value))}"'


def _escape(character: str) -> str:
    """Return a character as it is written in double quotes."""
    is_plain = character.isprintable() and character not in '"\\'
    return character if is_plain else f"\\U{ord(character):08X}"


@cache
def _template(name: str) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(  # the output is YAML; `flow` quotes what YAML would misread
        loader=FileSystemLoader(TEMPLATES),
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[[",
        variable_end_string="]]",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,
    )
    environment.filters["flow"] = flow
    return environment.get_template(name)
