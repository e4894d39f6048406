"""params.yaml, read as YAML 1.2 (as DVC reads it) and checked; the only place that knows its shape."""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from metrics_core.catalogue import idle_overrides
from metrics_core.conventions import ConventionError, Conventions, is_number
from metrics_core.presets import departures
from pipeline.checks import InputError, Problem, refuse

PARAMS = Path("params.yaml")
TRUTH = "truth"  # its files stand beside those of the models
BACKGROUND = ("train", "items", "users")  # what is known beside lists and truth
MODEL_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_-]*$")

Format = Literal["csv", "tsv", "parquet", "arrow", "jsonl", "trec"]
Order = Literal["rank", "score", "file"]
PERCENT = re.compile(r"^\d+(\.\d+)?%$")
Effect = float | str
Share = Annotated[float, Field(gt=0, lt=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TruthFile(_Section):
    path: str
    format: Format | None = None
    columns: dict[Literal["user", "item", "grade", "time"], str] = {}


class ListsFile(_Section):
    path: str
    format: Format | None = None
    columns: dict[Literal["user", "item", "rank", "score"], str] = {}
    order: Order | None = None
    training_run_id: Annotated[str, Field(min_length=1)] | None = None


class BackgroundFile(_Section):
    path: str
    format: Format | None = None
    columns: dict[Literal["user", "item", "categories", "vector", "title", "time"], str] = {}


class ByActivity(_Section):
    """Users by their interactions in train; `edges` are the upper ends of the groups."""

    by: Literal["activity"]
    edges: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)


class ByColumn(_Section):
    """Users by a column of `background.users`; with `edges` it is a number, cut there."""

    by: Literal["user"]
    column: str
    edges: list[float] | None = Field(default=None, min_length=1)


class ByPopularity(_Section):
    """Items by popularity in train: the head holds this share of the interactions, head and middle that one."""

    by: Literal["truth_item", "recommended_item"]
    shares: list[Share] = Field(min_length=2, max_length=2)


Segmentation = Annotated[ByActivity | ByColumn | ByPopularity, Field(discriminator="by")]


class Data(_Section):
    truth: TruthFile


class Input(_Section):
    rank_base: Literal[0, 1]


class Evaluation(_Section):
    metrics: list[str] = Field(min_length=1)
    ks: list[Annotated[int, Field(ge=1)]] = Field(min_length=1)
    engine: Literal["duckdb", "polars"]
    rows_per_partition: Annotated[int, Field(ge=1)]
    panel: bool


class Comparison(_Section):
    baseline: str
    primary: list[str] = Field(min_length=1)
    confidence: Annotated[float, Field(gt=0.5, lt=1)]
    min_effect: Effect | dict[str, Effect]
    adjustment: Literal["holm", "max_t"]
    wilcoxon: bool
    resamples: Annotated[int, Field(ge=99)]
    seed: Annotated[int, Field(ge=0)]

    @field_validator("min_effect", mode="before")
    @classmethod
    def _effects(cls, given: Any) -> Any:
        for effect in given.values() if isinstance(given, dict) else [given]:
            share = isinstance(effect, str) and PERCENT.match(effect)
            if not share and not (is_number(effect) and effect >= 0):
                msg = f"{effect!r} is no effect: write a number such as 0.005, or a share of the baseline such as 2%"
                raise ValueError(msg)
        return given


class Report(_Section):
    title: str


class MLflow(_Section):
    tracking_uri: str
    experiment: str
    required: bool
    attach: Literal["metrics", "child"]


class Results(_Section):
    """The folders of everything that is generated; dvc.yaml reads the same keys."""

    data: str
    lists: str
    quality: str
    per_user: str
    panel: str
    summary: str
    metrics: str
    comparison: str
    report: str
    mlflow: str


class Params(_Section):
    data: Data
    background: dict[Literal["train", "items", "users"], BackgroundFile]
    models: dict[str, ListsFile] = Field(min_length=1)
    input: Input
    evaluation: Evaluation
    comparison: Comparison
    segments: dict[str, Segmentation]
    conventions: dict[str, Any]
    report: Report
    mlflow: MLflow
    results: Results

    @cached_property
    def pinned(self) -> Conventions:
        return Conventions.from_mapping(self.conventions)


def read_params(path: Path = PARAMS) -> Params:
    """The checked params.yaml.

    Raises
    ------
    InputError : the file is missing, is no YAML, or says something that Concord cannot honour; all of it at once
    """
    content = _read_yaml(path)
    _refuse_model_names(path, content.get("models"))
    try:
        params = Params.model_validate(content)
    except ValidationError as error:
        raise InputError([_problem(path, found) for found in error.errors()]) from None
    problems = [*_convention_problems(path, params), *_comparison_problems(path, params)]
    if problems:
        raise InputError(problems)
    return params


def _read_yaml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        what = "there is no such file in this folder"
        raise refuse(str(path), what, "run in the root of the project, where dvc.yaml is")
    try:
        content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise refuse(
            str(path), f"is not valid YAML: {error}", "mend the line that is named"
        ) from None
    if not isinstance(content, dict):
        raise refuse(str(path), "holds no mapping", "start from the params.yaml of the demo")
    return content


def _refuse_model_names(path: Path, models: Any) -> None:
    """DVC drops names that are no text without a word, and stumbles over dots, `@` and slashes."""
    names = list(models) if isinstance(models, dict) else []
    wrong = [name for name in names if not _is_model_name(name)]
    fix = (
        "use letters, digits, `_` and `-`, starting with a letter or digit; quote a name of digits only; "
        f"{', '.join(map(repr, (TRUTH, *BACKGROUND)))} are taken"
    )
    if wrong:
        raise InputError(
            [Problem(f"{path}: models", f"{name!r} is no name of a model", fix) for name in wrong]
        )


def _is_model_name(name: Any) -> bool:
    return (
        isinstance(name, str)
        and MODEL_NAME.match(name) is not None
        and name not in {TRUTH, *BACKGROUND}
    )


def _problem(path: Path, found: Any) -> Problem:
    where = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden":
        return Problem(
            f"{path}: {where}", "is not a key that Concord knows", "remove it, or mend its spelling"
        )
    if found["type"] == "missing":
        return Problem(f"{path}: {where}", "is missing", f"add `{found['loc'][-1]}:` there")
    fix = found["msg"].removeprefix("Value error, ")
    return Problem(f"{path}: {where}", f"is {found['input']!r}", fix[:1].lower() + fix[1:])


def _convention_problems(path: Path, params: Params) -> list[Problem]:
    try:
        differing, idle = departures(params.pinned), idle_overrides(params.pinned)
    except ConventionError as error:
        return _of_conventions(path, error.problems)
    if idle:
        return _of_conventions(path, idle)
    name = params.pinned.preset
    return [
        Problem(
            f"{path}: conventions.{knob}",
            f"is {pinned!r}, but preset {name!r} has {named!r}",
            f"set it to {named!r}, or `preset: custom`",
        )
        for knob, (pinned, named) in differing.items()
    ]


def _of_conventions(path: Path, found: list[tuple[str, str, str]]) -> list[Problem]:
    return [Problem(f"{path}: conventions.{key}", what, fix) for key, what, fix in found]


def _segment_problems(path: Path, params: Params) -> Iterator[Problem]:
    for name, segmentation in params.segments.items():
        where = f"{path}: segments.{name}"
        needs = "users" if isinstance(segmentation, ByColumn) else "train"
        if needs not in params.background:
            fix = f"name the file as `background.{needs}`, or remove the entry"
            yield Problem(where, f"needs {needs}, which background does not name", fix)
        ends = segmentation.shares if isinstance(segmentation, ByPopularity) else segmentation.edges
        if ends and any(low >= high for low, high in pairwise(ends)):
            yield Problem(where, f"{ends} does not rise", "give each end once, smallest first")


def _comparison_problems(path: Path, params: Params) -> list[Problem]:
    problems = list(_segment_problems(path, params))
    ks = params.evaluation.ks
    if len(set(ks)) < len(ks):
        problems.append(
            Problem(f"{path}: evaluation.ks", f"repeats a cutoff: {ks}", "name each k once")
        )
    if params.comparison.baseline not in params.models:
        known = ", ".join(params.models)
        what = f"{params.comparison.baseline!r} is not among the models"
        problems.append(Problem(f"{path}: comparison.baseline", what, f"name one of: {known}"))
    return [*problems, *_training_problems(path, params)]


def _training_problems(path: Path, params: Params) -> Iterator[Problem]:
    """Of two models on one training run, the metrics of the second would hide those of the first."""
    seen: dict[str, str] = {}
    for name, model in params.models.items():
        run_id = model.training_run_id
        if run_id and params.mlflow.attach == "metrics" and run_id in seen:
            what = f"{run_id!r} is the training run of {seen[run_id]} too"
            fix = "name another run, or set `mlflow.attach: child`"
            yield Problem(f"{path}: models.{name}.training_run_id", what, fix)
        if run_id:
            seen[run_id] = name
