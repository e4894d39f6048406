"""Schema of params.yaml: its keys and types, and the configuration of a comparison that it describes."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SkipValidation,
    Tag,
    field_validator,
)

from concord.metrics_core.comparison.config import (
    ABOVE_CONFIDENCE,
    MAX_CONFIDENCE,
    MAX_MISSING_LISTS,
    MAX_RESAMPLES,
    MAX_SEED,
    MIN_RESAMPLES,
    Adjustment,
    ComparisonConfig,
    in_report_order,
)
from concord.metrics_core.comparison.gate_config import parse_gate
from concord.metrics_core.comparison.min_effect import Effect
from concord.metrics_core.comparison.replicate_config import (
    ReplicateNames,
    match_replicates,
    model_names,
)
from concord.metrics_core.comparison.segmentation import (
    MAX_COUNT,
    MAX_END,
    Segmentation,
    parse_segments,
)
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.units import unit_findings
from concord.metrics_core.errors import ParamsKeys, refuse
from concord.metrics_core.metrics.label import MAX_K, Label, expand, metric_name, with_own_metrics
from concord.metrics_core.results.gate import Gate as GateConfig
from concord.metrics_core.results.gate import Margin
from concord.pipeline.params.repository import PARAMS as PARAMS

Format = Literal["csv", "tsv", "parquet", "arrow", "jsonl", "trec"]
Order = Literal["rank", "score", "file"]
MODEL_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
MOST_NAMED = 100  # metrics, cutoffs, primary labels
MOST_ENDS = 100  # of a segmentation
Cutoff = Annotated[int, Field(ge=1, le=MAX_K)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
End = Annotated[float, Field(ge=-MAX_END, le=MAX_END, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, lt=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _keys_as_text(value: Any) -> Any:
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else value


def _number_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) else value


ModelName = Annotated[str, Field(pattern=MODEL_NAME)]


class TruthFile(_Section):
    """`folds`: where each fold has a truth of its own, its number -> the file in the folder `path`."""

    path: str
    format: Format | None = None
    columns: dict[Literal["user", "item", "grade", "time", "propensity"], str | None] = {}
    folds: Annotated[dict[ModelName, str], BeforeValidator(_keys_as_text)] = {}

    @field_validator("columns")
    @classmethod
    def _refuse_null(cls, columns: dict[str, str | None]) -> dict[str, str | None]:
        for column, name in columns.items():
            if name is None and column != "grade":
                msg = f"{column}: null: only the grade may be missing; name the column"
                raise ValueError(msg)
        return columns


_TEXT, _FILE, _PATTERN, _BY_NUMBER = "<text>", "<file>", "<pattern>", "<by number>"
TAGS = (_TEXT, _FILE, _PATTERN, _BY_NUMBER)  # names of kinds that pydantic puts between keys


class RunIdFile(_Section):
    """A file that the training writes: text that is the id of its MLflow run, or JSON that holds it at `key`."""

    file: Annotated[str, Field(min_length=1)]
    key: Annotated[str, Field(min_length=1)] | None = None


RunId = Annotated[
    Annotated[str, Field(min_length=1), Tag(_TEXT)] | Annotated[RunIdFile, Tag(_FILE)],
    Discriminator(lambda value: _FILE if isinstance(value, dict | RunIdFile) else _TEXT),
]


class ListsFile(_Section):
    """`fold`: the lists are judged by the truth of this fold. `was`: the name of the model at revisions that lack this one."""

    path: str
    format: Format | None = None
    columns: dict[Literal["user", "item", "rank", "score"], str] = {}
    order: Order | None = None
    fold: Annotated[str | None, BeforeValidator(_number_as_text)] = None
    was: ModelName | None = None
    training_run_id: RunId | None = None


class BackgroundFile(_Section):
    """`columns` of the catalogue may name numbers, too, such as a price, that metrics of one's own read."""

    path: str
    format: Format | None = None
    columns: dict[str, str] = {}


class ByActivity(_Section):
    """Users by their interactions in train; `edges` are the upper ends of the groups."""

    by: Literal["activity"]
    edges: list[Count] = Field(min_length=1, max_length=MOST_ENDS)
    compare_gaps: bool = False


class ByColumn(_Section):
    """Users by a column of `background.users`; with `edges` it is a number, cut there."""

    by: Literal["user"]
    column: str
    edges: list[End] | None = Field(default=None, min_length=1, max_length=MOST_ENDS)
    compare_gaps: bool = False


class ByPopularity(_Section):
    """Items by popularity in train: the head holds this share of the interactions, head and middle that one."""

    by: Literal["truth_item", "recommended_item"]
    shares: list[Share] = Field(min_length=2, max_length=2)


Segments = Annotated[ByActivity | ByColumn | ByPopularity, Field(discriminator="by")]


class Data(_Section):
    """`columns`: what every table calls user and item, unless its own `columns` say otherwise.

    `unit`: the columns of lists and truth that name a request, the user's first, where values are those of requests.
    """

    columns: dict[Literal["user", "item"], str] = {}
    unit: list[str] = []
    truth: TruthFile

    @field_validator("unit")
    @classmethod
    def _refuse_invalid(cls, unit: list[str]) -> list[str]:
        for problem, fix in unit_findings(unit) if unit else ():
            msg = f"{problem}: {fix}"
            raise ValueError(msg)
        return unit


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
    engine: Literal["duckdb", "polars", "spark"]
    rows_per_partition: Annotated[int, Field(ge=1, le=MAX_COUNT)]
    panel: bool


Replicates = Annotated[
    Annotated[str, Field(pattern=r"^[^*]*\*[^*]*$"), Tag(_PATTERN)]
    | Annotated[dict[str, str], Tag(_BY_NUMBER)],
    Discriminator(lambda value: _BY_NUMBER if isinstance(value, dict) else _PATTERN),
]


class Comparison(_Section):
    """`replicates`: model -> its trainings, entries of `models`: by a pattern such as `als-*`, or {1: als-a, 2: als-b}.

    `cases`: example users in the report. [als, ease]: those for whom the first model is furthest behind the second.
    [] or null: none. Not set: five for whom the leader is furthest behind the baseline, and five where it is ahead.
    `max_missing_lists`: share of the evaluated users without a list, above which a model is not compared.
    """

    baseline: str
    primary: list[str] = Field(min_length=1, max_length=MOST_NAMED)
    confidence: SkipValidation[Annotated[float, Field(gt=ABOVE_CONFIDENCE, le=MAX_CONFIDENCE)]]
    min_effect: SkipValidation[Effect | dict[str, Effect]]
    adjustment: SkipValidation[Adjustment]
    wilcoxon: SkipValidation[bool]
    resamples: SkipValidation[Annotated[int, Field(ge=MIN_RESAMPLES, le=MAX_RESAMPLES)]]
    seed: SkipValidation[Annotated[int, Field(ge=0, le=MAX_SEED)]]
    replicates: dict[ModelName, Replicates] = {}
    paired_replicates: SkipValidation[bool] = False
    max_missing_lists: SkipValidation[Annotated[float, Field(ge=0, le=1)]] = MAX_MISSING_LISTS
    cases: list[ModelName] | None = None

    @field_validator("cases", mode="before")
    @classmethod
    def _null_as_empty(cls, cases: Any) -> Any:
        return [] if cases is None else cases

    @field_validator("replicates", mode="before")
    @classmethod
    def _refuse_list(cls, replicates: Any) -> Any:
        if not isinstance(replicates, dict):
            return replicates
        for model, names in replicates.items():
            if isinstance(names, list):
                numbered = ", ".join(f"{n}: {name}" for n, name in enumerate(names, 1))
                msg = f"name trainings by their numbers: {{{model}: {{{numbered}}}}}"
                raise ValueError(msg)  # noqa: TRY004 - pydantic reports a ValueError with its location
        return {model: _keys_as_text(names) for model, names in replicates.items()}


Margins = dict[str, SkipValidation[Margin]]


class Gate(_Section):
    """What `concord gate` decides on: margins are a number, a share of the reference's mean, or min_effect.

    `new_models`: models that a revision lacks are held against the baseline, or not decided on; not set: not decided on,
    and the gate stays undecided if others have vanished, of which they may be new names.
    """

    guardrails: Margins = {}
    segments: dict[str, Margins] = {}
    success: list[str] = Field(default=[], max_length=MOST_NAMED)
    undecided: Literal["pass"] | None = None
    models: list[str] = []
    new_models: Literal["baseline", "ignore"] | None = None


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
    """`concord`: the version that made dvc.yaml and this file; no other version works on them."""

    concord: str | None = None
    data: Data
    background: dict[Literal["train", "items", "users", "metrics"], BackgroundFile]
    models: dict[str, ListsFile] = Field(min_length=1)
    input: Input
    evaluation: Evaluation
    comparison: Comparison
    segments: dict[str, Segments]
    gate: Gate | None = None
    conventions: dict[str, Any]
    report: Report
    mlflow: MLflow
    results: Results

    @field_validator("gate", mode="before")
    @classmethod
    def _empty_as_none(cls, gate: Any) -> Any:
        return None if gate == {} else gate

    @property
    def own_metrics(self) -> Path | None:
        """The file of the user's own metrics."""
        file = self.background.get("metrics")
        return None if file is None else Path(file.path)

    @cached_property
    def pinned(self) -> Conventions:
        """The conventions, with those of own metrics."""
        conventions = Conventions.from_mapping(self.conventions)
        return with_own_metrics(conventions, map(metric_name, self.evaluation.metrics))

    @property
    def labels(self) -> list[Label]:
        """Each metric at every cutoff; raises InputError if a metric is unknown or named twice."""
        try:
            return expand(self.evaluation.metrics, self.evaluation.ks)
        except ValueError as error:
            where = f"{PARAMS}: evaluation.metrics"
            raise refuse(where, str(error), "correct the label") from None

    @property
    def replicate_names(self) -> ReplicateNames:
        """Model -> number of the replicate -> entry of `models`."""
        return match_replicates(self.comparison.replicates, self.models)

    @property
    def compared_models(self) -> list[str]:
        """The models that are compared, in the order of params.yaml."""
        return model_names(self.models, self.replicate_names)

    @property
    def segmentations(self) -> dict[str, Segmentation]:
        """How users or items are grouped; raises InputError if a segmentation is invalid."""
        segments = {
            name: each.model_dump(exclude_none=True) for name, each in self.segments.items()
        }
        return parse_segments(segments)

    @property
    def gate_config(self) -> GateConfig | None:
        """The gate; raises InputError if it is invalid."""
        if self.gate is None:
            return None
        return parse_gate({key: value for key, value in self.gate if key != "new_models"})

    @property
    def comparison_config(self) -> ComparisonConfig:
        """The configuration of the comparison; raises InputError if it is invalid."""
        return self.build_config(self.labels, self.pinned)

    def build_config(self, labels: Sequence[Label], conventions: Conventions) -> ComparisonConfig:
        """Return the configuration of a comparison of these labels; raises as `comparison_config`."""
        comparison = self.comparison
        return ComparisonConfig(
            labels=in_report_order(labels),
            ks=sorted(self.evaluation.ks),
            conventions=conventions,
            baseline=comparison.baseline,
            primary=comparison.primary,
            min_effect=comparison.min_effect,
            title=self.report.title,
            confidence=comparison.confidence,
            adjustment=comparison.adjustment,
            wilcoxon=comparison.wilcoxon,
            resamples=comparison.resamples,
            seed=comparison.seed,
            max_missing_lists=comparison.max_missing_lists,
            panel=self.evaluation.panel,
            segments=self.segmentations,
            gate=self.gate_config,
            replicates={model: lists for model, lists in self.replicate_names.items() if lists},
            paired_replicates=comparison.paired_replicates,
            settings=ParamsKeys("comparison"),
        ).validated(
            self.compared_models,
            lists=self.models,
            folds=self.data.truth.folds,
            tables=self.background,
        )
