"""Arguments of `compare`, `audit` and `cases`: parsed, with all problems at once."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from concord.metrics_core.comparison.behaviour_rules import parse_checks
from concord.metrics_core.comparison.config import (
    NO_ALIASES,
    ComparisonConfig,
    ComparisonOptions,
    model_problems,
)
from concord.metrics_core.comparison.gate import parse_gate
from concord.metrics_core.comparison.min_effect import Effects
from concord.metrics_core.comparison.options import Options
from concord.metrics_core.comparison.replicate_config import (
    ReplicateNames,
    parse_truths,
    split_replicates,
)
from concord.metrics_core.comparison.segmentation import parse_segments
from concord.metrics_core.comparison.warnings.acknowledge import parse_acknowledgements
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.display_words import refuse_words
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.data.argument_types import Data, ModelColumns, Truth
from concord.metrics_core.errors import InputError, Problem
from concord.metrics_core.evaluation.evaluate import (
    parse_conventions,
    parse_labels,
    refuse_unread_columns,
)
from concord.metrics_core.evaluation.inputs import refuse_unit
from concord.metrics_core.evaluation.side_data import with_catalogue_size
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.label import Label, in_report_order, with_own_metrics

T = TypeVar("T")
_DEFAULTS = Options()


@dataclass
class ListArguments:
    """Parsed arguments of a function that takes recommendations of several models.

    Attributes
    ----------
    labels : list of Label
        In the order given; empty if `metrics` is invalid.
    conventions : Conventions
        The preset `standard` if `conventions` is invalid.
    models : list of str
        Names of the models; empty if `models` is invalid.
    lists : dict
        Name -> recommendations of a model, or of one replicate.
    replicates : dict
        Model -> number of the replicate -> name of its lists.
    truths : dict
        Fold -> its ground truth; NO_FOLD -> that of all lists.
    tables : dict
        Name -> side data: train, items and users, None if it is not given.
    columns : dict or None
        Table or model -> its column names; they hold for all replicates of a model.
    options : Options
        As given: how the tables are read.
    rules : ComparisonOptions
        Parsed; without baseline, primary labels and minimum relevant differences.
    problems : list of Problem
        What is wrong so far; `ComparisonConfig.validated` raises them with its own.
    """

    labels: list[Label] = field(default_factory=list)
    conventions: Conventions = field(default_factory=lambda: preset("standard"))
    models: list[str] = field(default_factory=list)
    lists: Mapping[str, Any] = field(default_factory=dict)
    replicates: ReplicateNames = field(default_factory=dict)
    truths: Mapping[str, Truth] = field(default_factory=dict)
    tables: Mapping[str, Data | None] = field(default_factory=dict)
    columns: ModelColumns | None = None
    options: Options = field(default_factory=Options)
    rules: ComparisonOptions = field(default_factory=ComparisonOptions)
    problems: list[Problem] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The labels as text."""
        return [str(label) for label in self.labels]

    @property
    def folds(self) -> set[str]:
        """Folds with a ground truth of their own."""
        return {*self.truths} - {NO_FOLD} if self.lists else set()

    def config(
        self,
        baseline: str | None,
        primary: Sequence[str] | None = None,
        min_effect: Effects | None = None,
        arguments: Mapping[str, str] = NO_ALIASES,
    ) -> ComparisonConfig:
        """Return the valid configuration of a comparison; `arguments` as for `validated`.

        By default, the first label is primary.

        Raises
        ------
        InputError
            An argument or an option is invalid; all problems at once.
        """
        options = replace(
            self.rules,
            baseline="" if baseline is None else baseline,
            primary=self.names[:1] if primary is None else primary,
            min_effect=0.0 if min_effect is None else min_effect,
        )
        config = ComparisonConfig.of(
            in_report_order(self.labels),
            options,
            conventions=self.conventions,
            replicates=self.replicates,
        )
        return self.validated(config, self.models, self.folds, arguments)

    def validated(
        self,
        config: ComparisonConfig,
        models: Collection[str],
        folds: Collection[str] = (),
        arguments: Mapping[str, str] = NO_ALIASES,
    ) -> ComparisonConfig:
        """Return `ComparisonConfig.validated` with the problems of the arguments."""
        return config.validated(
            models,
            lists=self.lists,
            folds=folds,
            tables=[name for name, table in self.tables.items() if table is not None],
            problems=self.problems,
            arguments=arguments,
        )

    def parse(self, function: Callable[..., T], *arguments: Any, default: T) -> T:
        """Return a function's result; if it raises, add its problems and return the default."""
        try:
            return function(*arguments)
        except InputError as error:
            self.problems += error.problems
        return default


def parse_list_arguments(
    models: Any,
    truth: Any,
    *,
    metrics: Any,
    conventions: Any,
    tables: Mapping[str, Data | None],
    columns: ModelColumns | None,
    options: Options = _DEFAULTS,
    takes_unit: bool = True,
) -> ListArguments:
    """Return the parsed arguments, with what is wrong with them.

    A function that does not take a unit refuses conventions of one itself.
    """
    parsed = ListArguments(tables=tables, columns=columns, options=options)
    parsed.labels = parsed.parse(parse_labels, metrics, default=[])
    parsed_conventions = parsed.parse(parse_conventions, conventions, default=None)
    if parsed_conventions is not None:
        parsed.conventions = with_own_metrics(
            parsed_conventions, (label.name for label in parsed.labels)
        )
        parsed.conventions = parsed.parse(
            with_catalogue_size, parsed.conventions, tables, columns, default=parsed.conventions
        )
        if takes_unit:
            parsed.parse(refuse_unit, options.unit, parsed.conventions, default=None)
        if parsed.labels:
            parsed.parse(
                refuse_unread_columns, columns, parsed.labels, parsed.conventions, default=None
            )
    checks, acknowledge = (
        {} if each is None else each for each in (options.checks, options.acknowledge)
    )
    parsed.rules = ComparisonOptions(
        **options.statistics,
        segments=parsed.parse(parse_segments, options.segments or {}, default={}),
        checks=parsed.parse(parse_checks, checks, default={}),
        acknowledge=parsed.parse(parse_acknowledgements, acknowledge, default={}),
        gate=None if options.gate is None else parsed.parse(parse_gate, options.gate, default=None),
    )
    parsed.parse(refuse_words, options.words, default=None)
    invalid = list(model_problems(models))
    parsed.problems += invalid
    if not invalid:
        parsed.models = list(models)
        none: tuple[dict[str, Any], ReplicateNames] = {}, {}
        parsed.lists, parsed.replicates = parsed.parse(split_replicates, models, default=none)
    parsed.truths = parsed.parse(parse_truths, truth, default={})
    return parsed
