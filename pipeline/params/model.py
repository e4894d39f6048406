"""Schema of params.yaml, and the configuration of a comparison that it describes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    SkipValidation,
    Tag,
    field_validator,
)

from concord.metrics_core.comparison.behaviour_rules import parse_checks
from concord.metrics_core.comparison.config import (
    ABOVE_CONFIDENCE,
    MAX_CONFIDENCE,
    MAX_RESAMPLES,
    MAX_SEED,
    MIN_RESAMPLES,
    ComparisonConfig,
    ComparisonOptions,
)
from concord.metrics_core.comparison.gate import parse_gate
from concord.metrics_core.comparison.min_effect import Effect
from concord.metrics_core.comparison.options import Family, StatisticsOptions
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
from concord.metrics_core.comparison.warnings.acknowledge import (
    CODES,
    VALUE_CODES,
    parse_acknowledgements,
)
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.display_words import word_problems
from concord.metrics_core.data.argument_types import Value
from concord.metrics_core.data.units import unit_problems
from concord.metrics_core.errors import InputError, SettingNames, as_params_line
from concord.metrics_core.files import count_items, load_json
from concord.metrics_core.metrics.label import (
    MAX_K,
    Label,
    canonical_label,
    expand,
    in_report_order,
    metric_name,
    with_own_metrics,
)
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.metrics.value_metric import are_bounds, value_label
from concord.metrics_core.results.gate import Margin
from concord.pipeline.params.model_names import MODEL_NAME
from concord.pipeline.params.repository import PARAMS as PARAMS
from concord.pipeline.params.repository import rerun_command

Format = Literal["csv", "tsv", "parquet", "arrow", "jsonl", "json", "trec"]
Order = Literal["rank", "score", "file"]
MAX_NAMES = 100  # metrics, cutoffs, primary labels
MAX_EDGES = 100  # of a segmentation
Cutoff = Annotated[int, Field(ge=1, le=MAX_K)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Edge = Annotated[float, Field(ge=-MAX_END, le=MAX_END, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, lt=1)]


class Section(BaseModel):
    """Section of a YAML file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _keys_as_text(value: Any) -> Any:
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else value


def _number_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) else value


ModelName = Annotated[str, Field(pattern=MODEL_NAME)]


def _check_filter_value(value: Any) -> Any:
    if isinstance(value, date):
        msg = f"write it in quotes, '{value}', as DVC reads no dates"
        raise ValueError(msg)  # noqa: TRY004 - pydantic reports its location
    if not isinstance(value, str | int | float | bool):
        msg = "write text, a number, true or false"
        raise ValueError(msg)  # noqa: TRY004 - pydantic reports its location
    return value


# Column -> value of the rows that are read.
Where = dict[str, Annotated[Value, BeforeValidator(_check_filter_value)]]


def _refuse(problems: Callable[[Any], Iterable[tuple[str, str]]]) -> AfterValidator:
    """Return a validator that refuses a value with problems, which it names with their fixes."""

    def check(value: Any) -> Any:
        for problem, fix in problems(value):
            msg = f"{problem}: {fix}"
            raise ValueError(msg)
        return value

    return AfterValidator(check)


def _null_columns(
    columns: Mapping[str, str | None], optional: Sequence[str], words: str
) -> Iterator[tuple[str, str]]:
    for column, name in columns.items():
        if name is None and column not in optional:
            yield f"{column}: null", f"only {words} may be missing; name the column"


class TruthFile(Section):
    """File of the ground truth.

    If each fold has its own ground truth, `folds` maps its number to a file in the folder `path`.
    `columns.predicted` and `sample: random` are for `concord ppi`: the column with the grades of a
    judge, and the declaration that people judged a random sample of the queries.
    `additional`: files with more judgements, in columns user, item and grade; rows without a grade
    are left out. `where`: only rows with these values are read, such as {split: test}.
    """

    path: str
    format: Format | None = None
    where: Where = {}
    columns: Annotated[
        dict[
            Literal["user", "item", "grade", "time", "propensity", "predicted", "subtopic"],
            str | None,
        ],
        _refuse(partial(_null_columns, optional=("grade",), words="the grade")),
    ] = {}
    sample: Literal["random"] | None = None
    folds: Annotated[dict[ModelName, str], BeforeValidator(_keys_as_text)] = {}
    additional: list[str] = []


_TEXT, _FILE, _PATTERN, _BY_NUMBER = "<text>", "<file>", "<pattern>", "<by number>"
_LISTS, _VALUES = "<lists>", "<values>"
# Names of kinds that pydantic puts between keys.
TAGS = (_TEXT, _FILE, _PATTERN, _BY_NUMBER, _LISTS, _VALUES)


class RunIdFile(Section):
    """File with the id of an MLflow run: plain text, or JSON that holds the id at `key`."""

    file: Annotated[str, Field(min_length=1)]
    key: Annotated[str, Field(min_length=1)] | None = None


RunId = Annotated[
    Annotated[str, Field(min_length=1), Tag(_TEXT)] | Annotated[RunIdFile, Tag(_FILE)],
    Discriminator(lambda value: _FILE if isinstance(value, dict | RunIdFile) else _TEXT),
]


class ListValues(Section):
    """File of values per user of another tool, of a model with lists.

    It has a column of users, and one for each of `metrics`; `columns`: their names in the file.
    """

    path: str
    format: Format | None = None
    columns: dict[str, str] = {}


class ListsFile(Section):
    """File of a model's recommendations.

    `where`: only rows with these values are read, such as {algorithm: als}. `fold`: the fold whose
    ground truth applies. `was`: the model's name at revisions that lack this one. `values`: the
    model's values per user, such as latency or cost.
    """

    path: str
    format: Format | None = None
    where: Where = {}
    columns: Annotated[
        dict[Literal["user", "item", "rank", "score"], str | None],
        _refuse(partial(_null_columns, optional=("rank", "score"), words="rank and score")),
    ] = {}
    order: Order | None = None
    values: ListValues | None = None
    fold: Annotated[str | None, BeforeValidator(_number_as_text)] = None
    was: ModelName | None = None
    training_run_id: RunId | None = None


class ValuesFile(Section):
    """File of values per user of another tool: a column of users, and one for each of `metrics`.

    `columns`: name in the file of `user` and of metrics. `was`: the model's name at revisions that
    lack this one.
    """

    values: str
    format: Format | None = None
    columns: dict[str, str] = {}
    was: ModelName | None = None
    training_run_id: RunId | None = None
    fold: ClassVar[None] = None

    @property
    def path(self) -> str:
        """Path of the file."""
        return self.values


ModelFile = Annotated[
    Annotated[ListsFile, Tag(_LISTS)] | Annotated[ValuesFile, Tag(_VALUES)],
    Discriminator(lambda value: _VALUES if is_values_entry(value) else _LISTS),
]


def is_values_entry(entry: Any) -> bool:
    """True if an entry of `models` names values of another tool instead of recommendations."""
    has_values_only = isinstance(entry, dict) and "values" in entry and "path" not in entry
    return isinstance(entry, ValuesFile) or has_values_only


class ValueMetric(Section):
    """Metric that another tool computed; `bounds`: the lowest and the highest possible value."""

    higher_is_better: bool
    bounds: list[float] | None = None

    @field_validator("bounds")
    @classmethod
    def _refuse_invalid(cls, bounds: list[float] | None) -> list[float] | None:
        if bounds is not None and not are_bounds(bounds):
            msg = "write [lowest, highest], such as [0, 1]"
            raise ValueError(msg)
        return bounds

    @property
    def range(self) -> Bounds:
        """The lowest and the highest possible value."""
        return UNBOUNDED if self.bounds is None else (self.bounds[0], self.bounds[1])


class BackgroundFile(Section):
    """File of side data.

    In the catalogue, `columns` may also name numbers that own metrics read, such as a price.
    `where`: only rows with these values are read; for `train` and `data.exclude`.
    """

    path: str
    format: Format | None = None
    where: Where = {}
    columns: dict[str, str] = {}


def _misplaced_where(background: Mapping[str, BackgroundFile]) -> Iterator[tuple[str, str]]:
    for name, file in background.items():
        if file.where and name != "train":
            yield f"leave out {name}.where", "only lists, ground truth and train may have it"


def _misplaced_exclude(conventions: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "exclude" in conventions:
        yield "exclude", "write it in the section data, on which the stages that load depend"


class ByActivity(Section):
    """Groups of users by their number of interactions in train; `edges` are upper bounds."""

    by: Literal["activity"]
    edges: list[Count] = Field(min_length=1, max_length=MAX_EDGES)
    compare_gaps: bool = False


class ByColumn(Section):
    """Groups of users by a column of `background.users`; with `edges`, by ranges of a number."""

    by: Literal["user"]
    column: str
    edges: list[Edge] | None = Field(default=None, min_length=1, max_length=MAX_EDGES)
    compare_gaps: bool = False


class ByPopularity(Section):
    """Groups of items by popularity in train: the head, the middle and the tail.

    `shares`: the head has the first share of the interactions, head and middle have the second.
    """

    by: Literal["truth_item", "recommended_item"]
    shares: list[Share] = Field(min_length=2, max_length=2)


Segments = Annotated[ByActivity | ByColumn | ByPopularity, Field(discriminator="by")]


class Data(Section):
    """Columns of the data.

    `columns`: names of the user and item column in every table that does not set its own.
    `unit`: columns of lists and truth that identify a session, the user's first; values are then
    those of sessions.
    `words`: words that the report shows for user, item and request; keys and columns keep theirs.
    `exclude`: same_id leaves the item with the id of the user out of lists and ground truth; a
    file leaves out its pairs of user and item.
    """

    columns: dict[Literal["user", "item"], str] = {}
    unit: Annotated[list[str], _refuse(lambda unit: unit_problems(unit) if unit else ())] = []
    words: Annotated[dict[str, str], _refuse(word_problems)] = {}
    exclude: Literal["same_id"] | BackgroundFile | None = None
    truth: TruthFile

    @field_validator("exclude", mode="before")
    @classmethod
    def _refuse_other(cls, exclude: Any) -> Any:
        is_file = isinstance(exclude, BackgroundFile) or (
            isinstance(exclude, dict) and "path" in exclude
        )
        if exclude in (None, "same_id") or is_file:
            return exclude
        msg = "write same_id, or {path: FILE} for pairs of user and item"
        raise ValueError(msg)


class Input(Section):
    """Unusual values that input files may hold; `error` refuses the file."""

    rank_base: Literal[0, 1]
    empty_lists: Literal["error", "keep"]
    nan_score: Literal["error", "last"]
    negative_grade: Literal["error", "zero", "unjudged", "pooled"]
    repeated_grade: Literal["error", "first", "highest"]
    unknown_items: Literal["error", "keep"]
    allow_outside: bool


class Evaluation(Section):
    metrics: list[str] = Field(min_length=1, max_length=MAX_NAMES)
    ks: list[Cutoff] = Field(min_length=1, max_length=MAX_NAMES)
    engine: Literal["duckdb", "polars", "spark"]
    rows_per_partition: Annotated[int, Field(ge=1, le=MAX_COUNT)]
    panel: bool


Replicates = Annotated[
    Annotated[str, Field(pattern=r"^[^*]*\*[^*]*$"), Tag(_PATTERN)]
    | Annotated[dict[str, str], Tag(_BY_NUMBER)],
    Discriminator(lambda value: _BY_NUMBER if isinstance(value, dict) else _PATTERN),
]


_NO_OPTIONS = {"replicates", "cases"}  # keys of `comparison` that are no `ComparisonOptions`


class Comparison(Section):
    """Options of the comparison.

    `replicates`: maps a model to its replicates in `models`: a pattern such as `als-*`, or
    {1: als-a, 2: als-b}.
    `cases`: two models for the example users in the report, such as [als, ease]: users for whom
    the first model is furthest behind the second. [] or null: no examples. Not set: five users for
    whom the leader is furthest behind the baseline, and five for whom it is furthest ahead.
    `family`: the comparisons of primary metrics whose intervals hold together.
    `tried`: number of models that were tried on these users, if more than are compared.
    `max_missing_lists`: a model is not compared if a larger share of the users has no list.
    """

    baseline: str
    primary: list[str] = Field(min_length=1, max_length=MAX_NAMES)
    confidence: SkipValidation[Annotated[float, Field(gt=ABOVE_CONFIDENCE, le=MAX_CONFIDENCE)]]
    min_effect: SkipValidation[Effect | dict[str, Effect]]
    family: SkipValidation[Family] = StatisticsOptions.family
    tried: SkipValidation[int | None] = StatisticsOptions.tried
    wilcoxon: SkipValidation[bool]
    resamples: SkipValidation[Annotated[int, Field(ge=MIN_RESAMPLES, le=MAX_RESAMPLES)]]
    seed: SkipValidation[Annotated[int, Field(ge=0, le=MAX_SEED)]]
    replicates: dict[ModelName, Replicates] = {}
    paired_replicates: SkipValidation[bool] = StatisticsOptions.paired_replicates
    max_missing_lists: SkipValidation[Annotated[float, Field(ge=0, le=1)]] = (
        StatisticsOptions.max_missing_lists
    )
    cases: Annotated[
        list[ModelName] | None, BeforeValidator(lambda cases: [] if cases is None else cases)
    ] = None

    @field_validator("replicates", mode="before")
    @classmethod
    def _refuse_list(cls, replicates: Any) -> Any:
        if not isinstance(replicates, dict):
            return replicates
        for model, names in replicates.items():
            if isinstance(names, list):
                numbered = ", ".join(f"{n}: {name}" for n, name in enumerate(names, 1))
                msg = f"name replicates by their numbers: {{{model}: {{{numbered}}}}}"
                raise ValueError(msg)  # noqa: TRY004 - pydantic reports its location
        return {model: _keys_as_text(names) for model, names in replicates.items()}


Margins = dict[str, SkipValidation[Margin]]


class Gate(Section):
    """Rules of `concord gate`.

    A margin is a number, a share of the reference's mean, or min_effect.

    `new_models`: whether models that a revision lacks are compared with the baseline or ignored.
    Not set: they are ignored, and the gate stays undecided if other models have vanished: a new
    model may be a renamed one.
    """

    guardrails: Margins = {}
    segments: dict[str, Margins] = {}
    success: list[str] = Field(default=[], max_length=MAX_NAMES)
    undecided: Literal["pass"] | None = None
    models: list[str] = []
    new_models: Literal["baseline", "ignore"] | None = None


class Acknowledge(Section):
    """Why a warning is accepted.

    `up_to`: the largest extent that is accepted, a share such as 25% or a count.
    `models`: the models for which it is accepted; needed if a gate would be suspicious.
    """

    reason: SkipValidation[str]
    up_to: SkipValidation[str | int | None] = None
    models: SkipValidation[list[str] | None] = None


class Report(Section):
    title: str


class MLflow(Section):
    """Where results are logged.

    `attach`: how a model with a training run is logged: in a run below the training run (`child`),
    on the training run (`metrics`), or below it with the primary metrics on it too (`both`).
    """

    tracking_uri: Annotated[str, Field(min_length=1)]
    experiment: Annotated[str, Field(min_length=1)]
    required: bool
    attach: Literal["both", "child", "metrics"]

    @field_validator("tracking_uri")
    @classmethod
    def _refuse_variable(cls, tracking_uri: str) -> str:
        if tracking_uri.startswith("$") or "${" in tracking_uri:
            msg = "variables are not expanded; write the address itself"
            raise ValueError(msg)
        return tracking_uri


class Results(Section):
    """Folders of generated files; dvc.yaml reads the same keys."""

    data: str
    lists: str
    quality: str
    per_user: str
    panel: str
    summary: str
    metrics: str
    reference: str
    comparison: str
    report: str
    mlflow: str


class Params(Section):
    """Content of params.yaml.

    `values_version`: the version of all values; a Concord that computes other values rejects it.
    `checks`: conditions that the lists of models must meet, by name, such as
    {never: {items: {group: adult}, users: {age_group: minor}}} or
    {overlap: {with: production, at_least: 0.7, k: 10}}.
    `acknowledge`: warnings that are accepted, by their codes.
    `metrics`: metrics of values of another tool. Models that have only values have no ground truth:
    they need neither `data`, `background`, `input` and `evaluation` nor `segments` and
    `conventions`.
    """

    values_version: int
    data: Data
    background: Annotated[
        dict[Literal["train", "items", "users", "metrics"], BackgroundFile],
        _refuse(_misplaced_where),
    ]
    models: dict[str, ModelFile] = Field(min_length=1)
    metrics: dict[str, ValueMetric] = {}
    input: Input
    evaluation: Evaluation
    comparison: Comparison
    segments: dict[str, Segments]
    gate: Annotated[Gate | None, BeforeValidator(lambda gate: None if gate == {} else gate)] = None
    checks: dict[str, dict[str, Any]] = {}
    acknowledge: dict[str, Acknowledge] = {}
    conventions: Annotated[dict[str, Any], _refuse(_misplaced_exclude)]
    report: Report
    mlflow: MLflow
    results: Results
    _content: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any) -> None:
        self._content = context or {}

    @property
    def content(self) -> Mapping[str, Any]:
        """Content of the file as it was read; empty if the parameters are from elsewhere."""
        return self._content

    @property
    def own_metrics(self) -> Path | None:
        """File of the user's own metrics; None if there is none."""
        file = self.background.get("metrics")
        return None if file is None else Path(file.path)

    @cached_property
    def parsed_conventions(self) -> Conventions:
        """Conventions of built-in and own metrics."""
        exclude = "pairs" if self.excluded_file else self.data.exclude
        excluded = {"exclude": exclude} if exclude else {}
        conventions = Conventions.from_mapping(self.conventions | excluded)
        return with_own_metrics(conventions, map(metric_name, self.evaluation.metrics))

    @property
    def excluded_file(self) -> BackgroundFile | None:
        """File of the pairs of user and item that do not count."""
        return self.data.exclude if isinstance(self.data.exclude, BackgroundFile) else None

    @property
    def resolved_conventions(self) -> Conventions:
        """Conventions with the size of the catalogue and the hash of the excluded pairs.

        Raises
        ------
        InputError
            If the ground truth is not loaded; otherwise as `with_catalogue_size`.
        """
        conventions = self.parsed_conventions
        if self.excluded_file:
            file = Path(self.results.quality) / "truth.json"
            quality = load_json(file, f"run `{rerun_command()}`")
            quality = next(iter(quality.get("folds", {}).values()), quality)
            conventions = replace(conventions, exclude=quality["excluded"]["policy"])
        return self.with_catalogue_size(conventions)

    def with_catalogue_size(self, conventions: Conventions) -> Conventions:
        """Return conventions with the size of the table that `candidates.catalogue` names.

        Raises
        ------
        InputError
            If the table is not loaded, or has too few items for the negatives.
        """

        def count(role: str) -> int:
            file = Path(self.results.data) / f"{role}.json"
            return count_items(load_json(file, f"run `{rerun_command()}`"))

        try:
            return conventions.with_catalogue_size(count)
        except InputError as error:
            raise InputError(
                replace(each, location=f"{PARAMS}: {each.where}")
                if isinstance(each.location, tuple)
                else each  # a file that is missing
                for each in error.problems
            ) from None

    @property
    def has_values(self) -> bool:
        """True if the models have values of another tool instead of recommendations."""
        return any(isinstance(entry, ValuesFile) for entry in self.models.values())

    @property
    def list_labels(self) -> list[Label]:
        """Each metric of lists at every cutoff."""
        return expand(self.evaluation.metrics, self.evaluation.ks)

    @property
    def value_labels(self) -> list[Label]:
        """Each of `metrics`, whose values another tool computed."""
        return [
            value_label(name, higher_is_better=metric.higher_is_better, bounds=metric.range)
            for name, metric in self.metrics.items()
        ]

    @property
    def labels(self) -> list[Label]:
        """All labels."""
        return [*self.list_labels, *self.value_labels]

    @property
    def primary(self) -> list[str]:
        """Primary metrics, as results spell their labels."""
        return [canonical_label(text) for text in self.comparison.primary]

    @property
    def replicate_names(self) -> ReplicateNames:
        """For each model, the entry of `models` that holds each numbered replicate."""
        return match_replicates(self.comparison.replicates, self.models)

    @property
    def compared_models(self) -> list[str]:
        """Models of the comparison, in the order of params.yaml."""
        return model_names(self.models, self.replicate_names)

    @property
    def segmentations(self) -> dict[str, Segmentation]:
        """Segmentations of users and items.

        Raises
        ------
        InputError
            If a segmentation is invalid.
        """
        return parse_segments(
            {name: segment.model_dump(exclude_none=True) for name, segment in self.segments.items()}
        )

    @property
    def comparison_config(self) -> ComparisonConfig:
        """Configuration of the comparison.

        Raises
        ------
        InputError
            If it is invalid.
        """
        return self.build_config(self.labels, self.resolved_conventions)

    def build_config(self, labels: Sequence[Label], conventions: Conventions) -> ComparisonConfig:
        """Return the configuration of a comparison of these labels.

        Raises
        ------
        InputError
            If it is invalid.
        """
        options = ComparisonOptions(
            **{key: value for key, value in self.comparison if key not in _NO_OPTIONS},
            title=self.report.title,
            panel=self.evaluation.panel,
            segments=self.segmentations,
            gate=parse_gate({k: v for k, v in self.gate if k != "new_models"})
            if self.gate
            else None,
            checks=parse_checks(self.checks),
            acknowledge=parse_acknowledgements(
                {code: entry.model_dump() for code, entry in self.acknowledge.items()},
                VALUE_CODES if self.has_values else CODES,
            ),
        )
        return ComparisonConfig.of(
            labels if self.has_values else in_report_order(labels),
            options,
            conventions=conventions,
            settings=SettingNames(
                ("comparison",),
                as_params_line,
                metrics=("metrics",) if self.has_values else ("evaluation", "metrics"),
            ),
            replicates={model: lists for model, lists in self.replicate_names.items() if lists},
        ).validated(
            self.compared_models,
            lists=self.models,
            folds=self.data.truth.folds,
            tables=self.background,
        )
