"""params.yaml: its shape, and reading it; the only place that knows its keys."""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from metrics_core.conventions import Conventions, is_number
from pipeline.boundaries import result_findings
from pipeline.params_checks import model_name_findings, shape_findings, value_findings
from pipeline.params_yaml import read_yaml

PARAMS = Path("params.yaml")

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
    columns: dict[Literal["user", "item", "grade", "time"], str | None] = {}

    @field_validator("columns")
    @classmethod
    def _named(cls, given: dict[str, str | None]) -> dict[str, str | None]:
        if missing := [
            ours for ours, theirs in given.items() if theirs is None and ours != "grade"
        ]:
            msg = f"{missing[0]}: null: only the grade may be missing; name the column"
            raise ValueError(msg)
        return given


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

    needs: ClassVar = "train"
    by: Literal["activity"]
    edges: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)

    @property
    def ends(self) -> Sequence[float]:
        return self.edges


class ByColumn(_Section):
    """Users by a column of `background.users`; with `edges` it is a number, cut there."""

    needs: ClassVar = "users"
    by: Literal["user"]
    column: str
    edges: list[float] | None = Field(default=None, min_length=1)

    @property
    def ends(self) -> Sequence[float]:
        return self.edges or []


class ByPopularity(_Section):
    """Items by popularity in train: the head holds this share of the interactions, head and middle that one."""

    needs: ClassVar = "train"
    by: Literal["truth_item", "recommended_item"]
    shares: list[Share] = Field(min_length=2, max_length=2)

    @property
    def ends(self) -> Sequence[float]:
        return self.shares


Segmentation = Annotated[ByActivity | ByColumn | ByPopularity, Field(discriminator="by")]


class Data(_Section):
    truth: TruthFile


class Input(_Section):
    """What files may hold beside the usual, and what is done with it; `error` refuses the file."""

    rank_base: Literal[0, 1]
    empty_lists: Literal["error", "keep"]
    nan_score: Literal["error", "last"]
    negative_grade: Literal["error", "zero", "unjudged"]
    repeated_grade: Literal["error", "first", "highest"]
    unknown_items: Literal["error", "keep"]
    allow_outside: bool


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
            share = isinstance(effect, str) and PERCENT.fullmatch(effect)
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
    yaml = read_yaml(path)
    if findings := list(model_name_findings(yaml.content.get("models"))):
        raise yaml.refusal(findings)
    try:
        params = Params.model_validate(yaml.content)
    except ValidationError as error:
        raise yaml.refusal(shape_findings(Params, error.errors())) from None
    if findings := [*value_findings(params), *result_findings(path, vars(params.results))]:
        raise yaml.refusal(findings)
    return params
