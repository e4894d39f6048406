"""params.yaml: its shape; the only place that knows its keys."""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from metrics_core.conventions.conventions import Conventions, is_number, shown
from metrics_core.metrics.catalogue import MOST_K

PARAMS = Path("params.yaml")

Format = Literal["csv", "tsv", "parquet", "arrow", "jsonl", "trec"]
Order = Literal["rank", "score", "file"]
PERCENT = re.compile(r"^[0-9]{1,4}(\.[0-9]{1,15})?%$")
MOST_EFFECT, MOST_PERCENT = 1e9, 1000  # a difference that matters
MOST_NAMED = 100  # metrics, cutoffs, primary labels
MOST_RESAMPLES = 1_000_000
MOST_COUNT = 10**12  # of rows, interactions and whatever else is counted
MOST_ENDS = 100  # of a segmentation
Effect = float | str
Cutoff = Annotated[int, Field(ge=1, le=MOST_K)]
Count = Annotated[int, Field(ge=0, le=MOST_COUNT)]
End = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)]
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
    edges: list[Count] = Field(min_length=1, max_length=MOST_ENDS)

    @property
    def ends(self) -> Sequence[float]:
        return self.edges


class ByColumn(_Section):
    """Users by a column of `background.users`; with `edges` it is a number, cut there."""

    needs: ClassVar = "users"
    by: Literal["user"]
    column: str
    edges: list[End] | None = Field(default=None, min_length=1, max_length=MOST_ENDS)

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
    metrics: list[str] = Field(min_length=1, max_length=MOST_NAMED)
    ks: list[Cutoff] = Field(min_length=1, max_length=MOST_NAMED)
    engine: Literal["duckdb", "polars"]
    rows_per_partition: Annotated[int, Field(ge=1, le=MOST_COUNT)]
    panel: bool


class Comparison(_Section):
    baseline: str
    primary: list[str] = Field(min_length=1, max_length=MOST_NAMED)
    confidence: Annotated[float, Field(gt=0.5, le=0.9999)]
    min_effect: Effect | dict[str, Effect]
    adjustment: Literal["holm", "max_t"]
    wilcoxon: bool
    resamples: Annotated[int, Field(ge=99, le=MOST_RESAMPLES)]
    seed: Annotated[int, Field(ge=0, lt=2**63)]

    @field_validator("min_effect", mode="before")
    @classmethod
    def _effects(cls, given: Any) -> Any:
        for effect in given.values() if isinstance(given, dict) else [given]:
            share = isinstance(effect, str) and PERCENT.fullmatch(effect)
            if share and float(effect[:-1]) <= MOST_PERCENT:
                continue
            if share or not is_number(effect) or not 0 <= effect <= MOST_EFFECT:
                msg = (
                    f"{shown(effect)} is no effect: write a number such as 0.005, or a share of the baseline such as 2%; "
                    f"at most {MOST_EFFECT:,.0f} or {MOST_PERCENT}%"
                )
                raise ValueError(msg)
        return given


class Report(_Section):
    title: str


class MLflow(_Section):
    tracking_uri: Annotated[str, Field(min_length=1)]
    experiment: Annotated[str, Field(min_length=1)]
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
