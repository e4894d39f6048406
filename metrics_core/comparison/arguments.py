"""Arguments of `compare`, `audit` and `cases`: parsed, with all problems at once."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from concord.metrics_core.comparison.behaviour_rules import Check, parse_checks
from concord.metrics_core.comparison.config import (
    NO_ALIASES,
    ComparisonConfig,
    ComparisonOptions,
    model_problems,
)
from concord.metrics_core.comparison.gate import parse_gate
from concord.metrics_core.comparison.replicate_config import (
    ReplicateNames,
    parse_truths,
    split_replicates,
)
from concord.metrics_core.comparison.segmentation import Segmentation, parse_segments
from concord.metrics_core.comparison.warnings.acknowledge import (
    Acknowledgements,
    parse_acknowledgements,
)
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.display_words import refuse_words
from concord.metrics_core.conventions.presets import ConventionsLike, preset
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
from concord.metrics_core.results.gate import Gate

T = TypeVar("T")


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
    segments: Mapping[str, Segmentation] = field(default_factory=dict)
    gate: Gate | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    acknowledge: Acknowledgements = field(default_factory=dict)
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
        self, options: ComparisonOptions, arguments: Mapping[str, str] = NO_ALIASES
    ) -> ComparisonConfig:
        """Return the valid configuration of a comparison; `arguments` as for `validated`.

        Raises
        ------
        InputError
            An argument or an option is invalid; all problems at once.
        """
        primary = self.names[:1] if options.primary is None else options.primary
        config = ComparisonConfig.of(
            in_report_order(self.labels),
            replace(options, primary=primary),
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
    metrics: Sequence[str],
    conventions: ConventionsLike,
    tables: Mapping[str, Data | None],
    columns: ModelColumns | None,
    segments: Mapping[str, Mapping[str, Any]] | None = None,
    gate: Mapping[str, Any] | None = None,
    checks: Mapping[str, Any] | None = None,
    acknowledge: Mapping[str, Any] | None = None,
    unit: Sequence[str] | None = (),
    words: Mapping[str, str] | None = None,
) -> ListArguments:
    """Return the parsed arguments, with what is wrong with them."""
    parsed = ListArguments(tables=tables)
    parsed.labels = parsed.parse(parse_labels, metrics, default=[])
    parsed_conventions = parsed.parse(parse_conventions, conventions, default=None)
    if parsed_conventions is not None:
        parsed.conventions = with_own_metrics(
            parsed_conventions, (label.name for label in parsed.labels)
        )
        parsed.conventions = parsed.parse(
            with_catalogue_size, parsed.conventions, tables, columns, default=parsed.conventions
        )
        if unit is not None:
            parsed.parse(refuse_unit, unit, parsed.conventions, default=None)
        if parsed.labels:
            parsed.parse(
                refuse_unread_columns, columns, parsed.labels, parsed.conventions, default=None
            )
    parsed.segments = parsed.parse(parse_segments, segments or {}, default={})
    parsed.checks = parsed.parse(parse_checks, {} if checks is None else checks, default={})
    parsed.acknowledge = parsed.parse(
        parse_acknowledgements, {} if acknowledge is None else acknowledge, default={}
    )
    parsed.parse(refuse_words, words, default=None)
    if gate is not None:
        parsed.gate = parsed.parse(parse_gate, gate, default=None)
    invalid = list(model_problems(models))
    parsed.problems += invalid
    if not invalid:
        parsed.models = list(models)
        none: tuple[dict[str, Any], ReplicateNames] = {}, {}
        parsed.lists, parsed.replicates = parsed.parse(split_replicates, models, default=none)
    parsed.truths = parsed.parse(parse_truths, truth, default={})
    return parsed
