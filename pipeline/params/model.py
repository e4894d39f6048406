"""Schema of params.yaml: its keys and types."""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SkipValidation,
    Tag,
    field_validator,
)

from concord.metrics_core.comparison import gate_config as gating
from concord.metrics_core.comparison import segmentation as segmentations
from concord.metrics_core.comparison.config import (
    ABOVE_CONFIDENCE,
    MAX_CONFIDENCE,
    MAX_MISSING_LISTS,
    MAX_RESAMPLES,
    MAX_SEED,
    MIN_RESAMPLES,
    TABLES,
    Adjustment,
)
from concord.metrics_core.comparison.min_effect import Effect
from concord.metrics_core.comparison.segmentation import MAX_COUNT, MAX_END
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.units import unit_findings
from concord.metrics_core.metrics.label import MAX_K, metric_name, with_own_metrics
from concord.metrics_core.results import gate as gates
from concord.metrics_core.results.gate import Margin

PARAMS = Path("params.yaml")
BACKGROUND = TABLES  # the keys of `background`

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


def _numbers_as_text(given: Any) -> Any:
    return {str(n): each for n, each in given.items()} if isinstance(given, dict) else given


Fold = Annotated[str, Field(pattern=MODEL_NAME)]


class TruthFile(_Section):
    """`folds`: where each fold has a truth of its own, its number -> the file in the folder `path`."""

    path: str
    format: Format | None = None
    columns: dict[Literal["user", "item", "grade", "time", "propensity"], str | None] = {}
    folds: dict[Fold, str] = {}

    _folds_as_text = field_validator("folds", mode="before")(_numbers_as_text)

    @field_validator("columns")
    @classmethod
    def _named(cls, given: dict[str, str | None]) -> dict[str, str | None]:
        if missing := [
            ours for ours, theirs in given.items() if theirs is None and ours != "grade"
        ]:
            msg = f"{missing[0]}: null: only the grade may be missing; name the column"
            raise ValueError(msg)
        return given


_TEXT, _FILE, _PATTERN, _BY_NUMBER = "<text>", "<file>", "<pattern>", "<by number>"
TAGS = (_TEXT, _FILE, _PATTERN, _BY_NUMBER)  # names of kinds that pydantic puts between keys


class RunIdFile(_Section):
    """A file that the training writes: text that is the id of its MLflow run, or JSON that holds it at `key`."""

    file: Annotated[str, Field(min_length=1)]
    key: Annotated[str, Field(min_length=1)] | None = None


def _is_file(given: Any) -> str:
    return _FILE if isinstance(given, dict | RunIdFile) else _TEXT


RunId = Annotated[
    Annotated[str, Field(min_length=1), Tag(_TEXT)] | Annotated[RunIdFile, Tag(_FILE)],
    Discriminator(_is_file),
]


ModelName = Annotated[str, Field(pattern=MODEL_NAME)]


class ListsFile(_Section):
    """`fold`: the lists are judged by the truth of this fold. `was`: the name of the model at revisions that lack this one."""

    path: str
    format: Format | None = None
    columns: dict[Literal["user", "item", "rank", "score"], str] = {}
    order: Order | None = None
    fold: str | None = None
    was: ModelName | None = None
    training_run_id: RunId | None = None

    @field_validator("fold", mode="before")
    @classmethod
    def _number_as_text(cls, given: Any) -> Any:
        return str(given) if isinstance(given, int) else given


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

    @property
    def cut(self) -> segmentations.ByActivity:
        return segmentations.ByActivity(tuple(self.edges), self.compare_gaps)


class ByColumn(_Section):
    """Users by a column of `background.users`; with `edges` it is a number, cut there."""

    by: Literal["user"]
    column: str
    edges: list[End] | None = Field(default=None, min_length=1, max_length=MOST_ENDS)
    compare_gaps: bool = False

    @property
    def cut(self) -> segmentations.ByColumn:
        edges = tuple(self.edges) if self.edges else None
        return segmentations.ByColumn(self.column, edges, self.compare_gaps)


class ByPopularity(_Section):
    """Items by popularity in train: the head holds this share of the interactions, head and middle that one."""

    by: Literal["truth_item", "recommended_item"]
    shares: list[Share] = Field(min_length=2, max_length=2)

    @property
    def cut(self) -> segmentations.ByPopularity:
        return segmentations.ByPopularity(self.by, (self.shares[0], self.shares[1]))


Segmentation = Annotated[ByActivity | ByColumn | ByPopularity, Field(discriminator="by")]


class Data(_Section):
    """`columns`: what every table calls user and item, unless its own `columns` say otherwise.

    `unit`: the columns of lists and truth that name a request, the user's first, where values are those of requests.
    """

    columns: dict[Literal["user", "item"], str] = {}
    unit: list[str] = []
    truth: TruthFile

    @field_validator("unit")
    @classmethod
    def _named(cls, given: list[str]) -> list[str]:
        for what, fix in unit_findings(given) if given else ():
            msg = f"{what}: {fix}"
            raise ValueError(msg)
        return given


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


def _is_mapping(given: Any) -> str:
    return _BY_NUMBER if isinstance(given, dict) else _PATTERN


Trainings = Annotated[
    Annotated[str, Field(pattern=r"^[^*]*\*[^*]*$"), Tag(_PATTERN)]
    | Annotated[dict[str, str], Tag(_BY_NUMBER)],
    Discriminator(_is_mapping),
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
    replicates: dict[ModelName, Trainings] = {}
    paired_replicates: SkipValidation[bool] = False
    max_missing_lists: SkipValidation[Annotated[float, Field(ge=0, le=1)]] = MAX_MISSING_LISTS
    cases: list[ModelName] | None = None

    @field_validator("cases", mode="before")
    @classmethod
    def _null_as_empty(cls, given: Any) -> Any:
        return [] if given is None else given

    @field_validator("replicates", mode="before")
    @classmethod
    def _trainings(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        for model, named in given.items():
            if isinstance(named, list):
                numbered = ", ".join(f"{n}: {each}" for n, each in enumerate(named, 1))
                msg = f"name trainings by their numbers: {{{model}: {{{numbered}}}}}"
                raise ValueError(msg)  # noqa: TRY004 - pydantic tells this one
        return {model: _numbers_as_text(named) for model, named in given.items()}


def _check_margin(value: Any) -> Any:
    if not gating.is_margin(value):
        raise ValueError(gating.MARGIN_FIX)
    return value


def _check_spellings(margins: dict[str, Margin]) -> dict[str, Margin]:
    for each in gating.spelling_problems("", margins):
        raise ValueError(f"{each.what}: {each.fix}")
    return margins


Margins = Annotated[
    dict[str, Annotated[Margin, BeforeValidator(_check_margin)]], AfterValidator(_check_spellings)
]


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

    @property
    def config(self) -> gates.Gate:
        return gating.build_gate(
            self.guardrails, self.segments, self.success, self.undecided, self.models
        )


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
    segments: dict[str, Segmentation]
    gate: Gate | None = None
    conventions: dict[str, Any]
    report: Report
    mlflow: MLflow
    results: Results

    @field_validator("gate", mode="before")
    @classmethod
    def _none_declared(cls, given: Any) -> Any:
        return None if given == {} else given

    def truth_of(self, model: str) -> Path:
        """The truth by which a model's lists are judged, as it was loaded: that of its fold, where there are folds."""
        truth, fold = Path(self.results.data) / "truth.parquet", self.models[model].fold
        return truth if fold is None else truth / f"{fold}.parquet"

    @property
    def own_metrics(self) -> Path | None:
        """The file of one's own metrics."""
        file = self.background.get("metrics")
        return None if file is None else Path(file.path)

    @cached_property
    def pinned(self) -> Conventions:
        conventions = Conventions.from_mapping(self.conventions)
        return with_own_metrics(conventions, map(metric_name, self.evaluation.metrics))
