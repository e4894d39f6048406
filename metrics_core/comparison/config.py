"""The configuration of a comparison, and what is wrong with one."""

import difflib
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

from concord.metrics_core.comparison.behaviour_rules import Check, check_problems
from concord.metrics_core.comparison.gate import gate_problems
from concord.metrics_core.comparison.min_effect import (
    Effect,
    Effects,
    effect_by_label,
    effect_problems,
    unevaluated_label_problem,
)
from concord.metrics_core.comparison.options import Family, StatisticsOptions
from concord.metrics_core.comparison.replicate_config import (
    ReplicateNames,
    fold_problems,
    replicate_problems,
)
from concord.metrics_core.comparison.segmentation import Segmentation, segment_problems
from concord.metrics_core.comparison.warnings.acknowledge import Acknowledgements
from concord.metrics_core.conventions.convention import format_value, is_number
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.errors import (
    Location,
    Problem,
    SettingNames,
    argument_names,
    raise_problems,
)
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.files import RESERVED_NAMES
from concord.metrics_core.metrics.label import Label, to_result_spelling
from concord.metrics_core.results.gate import Gate

ABOVE_CONFIDENCE, MAX_CONFIDENCE = 0.5, 0.9999
MIN_RESAMPLES, MAX_RESAMPLES = 99, 1_000_000
MAX_SEED = 2**63 - 1
MAX_TRIED = 1_000_000
NO_ALIASES: Mapping[str, str] = {}


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(StatisticsOptions):
    """Options of a comparison, parsed; see `Options`.

    Attributes
    ----------
    baseline : str
        The model that the others are compared with.
    primary : list of str or None
        Labels that decide, the most important first; by default the first of all labels.
    min_effect : float, str or dict
        Minimum relevant difference: a number, a share of the baseline's mean ("2%"),
        or one per label.
    """

    baseline: str = ""
    primary: Sequence[str] | None = None
    min_effect: Effects = 0.0
    segments: Mapping[str, Segmentation] = field(default_factory=dict)
    gate: Gate | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    acknowledge: Acknowledgements = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ComparisonConfig(EvaluationConfig, ComparisonOptions):
    """Configuration of a comparison: its labels, in report order, and its options.

    Attributes
    ----------
    replicates : dict
        Model -> number of the replicate -> name of its lists.
    """

    replicates: ReplicateNames = field(default_factory=dict)
    settings: SettingNames = field(default_factory=lambda: argument_names("truth"))

    @classmethod
    def of(
        cls,
        labels: Sequence[Label],
        options: ComparisonOptions,
        *,
        conventions: Conventions,
        replicates: ReplicateNames,
        settings: SettingNames | None = None,
    ) -> "ComparisonConfig":
        """Return the configuration of a comparison of these labels; `validated` checks it."""
        config = cls(
            **vars(options), labels=[*labels], conventions=conventions, replicates=replicates
        )
        return config if settings is None else replace(config, settings=settings)

    def validated(
        self,
        models: Collection[str],
        *,
        lists: Collection[str] = (),
        folds: Collection[str] = (),
        tables: Collection[str] = (),
        problems: Sequence[Problem] = (),
        arguments: Mapping[str, str] = NO_ALIASES,
    ) -> "ComparisonConfig":
        """Return the valid configuration, its labels in the spelling of results.

        Parameters
        ----------
        models, lists : collections of str
            Names of the compared models, and of all lists if models have replicates.
        folds, tables : collections of str
            Folds of the ground truth; the side data that is given: train, items, users.
        problems : sequence of Problem
            Problems that are known already.
        arguments : dict
            Field -> name of the argument that sets it, if they differ.

        Raises
        ------
        InputError
            The configuration is invalid; all problems at once.
        """
        skipped = () if self.labels else ("primary",)
        primary: list[str] = []
        if self.labels and is_list_of_text(self.primary):
            primary = [to_result_spelling(text, self._by_name) for text in self.primary]
        paired, gate = self.paired_replicates, self.gate
        config_problems = [
            *value_problems({k: v for k, v in vars(self).items() if k not in skipped}),
            *self._primary_problems(primary),
            *effect_problems(self.min_effect, self._by_name, primary, self.settings),
            *baseline_problems(self.baseline, models),
            *self._acknowledge_problems(models),
            *self._tried_problems(len(models) - 1),
            *replicate_problems(self.replicates, lists, paired=paired),
            *fold_problems(folds, models, self.replicates, paired=paired),
            *segment_problems(self.segments, tables, self.settings),
            *(() if gate is None else gate_problems(gate, self, self.segments, models)),
            *check_problems(self.checks, models, tables, self.settings),
        ]
        located = (
            replace(each, location=arguments.get(each.where, each.location))
            for each in config_problems
        )
        raise_problems(dict.fromkeys([*problems, *located]))
        return replace(self, primary=primary)

    def _primary_problems(self, primary: Sequence[str]) -> Iterator[Problem]:
        for label in dict.fromkeys(primary):
            if label not in self._by_name:
                yield unevaluated_label_problem("primary", label, self._by_name, self.settings)
            elif self._by_name[label].metric.is_aggregate:
                problem = f"{label} is one number over all users, so there is nothing to test"
                yield Problem("primary", problem, "name a metric that has a value for each user")
            if primary.count(label) > 1:
                yield Problem("primary", f"names {label} more than once", "name each label once")

    def _acknowledge_problems(self, models: Collection[str]) -> Iterator[Problem]:
        for code, entry in self.acknowledge.items():
            for model in entry.models:
                if models and model not in models:
                    problem = f"{model!r} is not among the models"
                    yield Problem(("acknowledge", code, "models"), problem, suggest(model, models))

    def _tried_problems(self, n_models: int) -> Iterator[Problem]:
        if type(self.tried) is int and 1 <= self.tried < n_models:
            problem = f"is {self.tried}, but {n_models} models are compared with the baseline"
            yield Problem("tried", problem, f"write {n_models} or more, or leave it out")

    @cached_property
    def _by_name(self) -> dict[str, Label]:
        return {str(label): label for label in self.labels}

    @cached_property
    def of_lists(self) -> "ComparisonConfig":
        """The configuration of the metrics of lists; the first is primary if no other is."""
        config = self.without([str(label) for label in self.labels if label.metric.is_of_values])
        return replace(config, primary=config.primary or [str(config.labels[0])])

    @cached_property
    def min_effects(self) -> dict[str, Effect]:
        """Label -> its minimum relevant difference."""
        return effect_by_label(self.min_effect, self._by_name)

    @property
    def alpha(self) -> float:
        """Significance level of the tests."""
        return 1 - self.confidence

    def family_alpha(self, n_models: int) -> float:
        """Return the level of a primary family; smaller if more than `n_models` were tried."""
        return self.alpha * n_models / max(self.tried or 0, n_models, 1)

    def without(self, labels: Container[str]) -> "ComparisonConfig":
        """Return the configuration without some labels."""
        kept_labels = [label for label in self.labels if str(label) not in labels]
        primary = [label for label in self.primary if label not in labels]
        return replace(self, labels=kept_labels, primary=primary)


def value_problems(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield fields with a value that is invalid for any data; `values` may lack some fields."""
    for name, value in values.items():
        if name in _RULES:
            is_valid, fix = _RULES[name]
            if not is_valid(value):
                yield Problem(name, f"is {format_value(value)}", fix)


def is_list_of_text(value: Any) -> bool:
    """True for a list of one text or more."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return is_list and len(value) > 0 and all(isinstance(text, str) for text in value)


def is_confidence(value: Any) -> bool:
    """True for a number in the range of confidence levels."""
    return is_number(value) and ABOVE_CONFIDENCE < value <= MAX_CONFIDENCE


CONFIDENCE_FIX = f"write a number above {ABOVE_CONFIDENCE}, at most {MAX_CONFIDENCE}"
_FLAG = (lambda value: isinstance(value, bool), "write True or False")
# Field -> predicate for a valid value, and what to write instead of an invalid one.
_RULES = {
    "confidence": (is_confidence, CONFIDENCE_FIX),
    "max_missing_lists": (
        lambda value: is_number(value) and 0 <= value <= 1,
        "write a share from 0 to 1",
    ),
    "resamples": (
        lambda value: type(value) is int and MIN_RESAMPLES <= value <= MAX_RESAMPLES,
        f"write a whole number from {MIN_RESAMPLES} to {MAX_RESAMPLES:,}",
    ),
    "seed": (
        lambda value: type(value) is int and 0 <= value <= MAX_SEED,
        f"write a whole number from 0 to {MAX_SEED:,}",
    ),
    "family": (
        lambda value: value in get_args(Family),
        f"write {' or '.join(map(repr, get_args(Family)))}",
    ),
    "tried": (
        lambda value: value is None or (type(value) is int and 1 <= value <= MAX_TRIED),
        f"write a whole number from 1 to {MAX_TRIED:,}",
    ),
    "primary": (is_list_of_text, "write a list of labels, such as ['nDCG@10']"),
    "title": (lambda value: isinstance(value, str), "write a text"),
    "wilcoxon": _FLAG,
    "panel": _FLAG,
    "paired_replicates": _FLAG,
}


def model_problems(
    models: Any, argument: str = "models", content: str = "recommendations"
) -> Iterator[Problem]:
    """Yield what is wrong with a dict of models and their names."""
    if not isinstance(models, Mapping) or not models:
        problem = f"must be a dict that maps a model's name to its {content}"
        yield Problem(argument, problem, f"write {{'als': {content}, 'ease': {content}}}")
        return
    for name in models:
        is_name = isinstance(name, str) and name.isprintable() and name.strip()
        if not is_name or name.strip().lower() in RESERVED_NAMES:
            reserved = ", ".join(map(repr, sorted(RESERVED_NAMES)))
            fix = f"write a text that can be printed, other than {reserved}"
            yield Problem(argument, f"{format_value(name)} cannot be the name of a model", fix)


def baseline_problems(
    baseline: Any, models: Collection[str], location: Location = "baseline"
) -> Iterator[Problem]:
    """Yield what is wrong with the name of a model."""
    if not isinstance(baseline, str):
        fix = f"write {str(baseline)!r}" if str(baseline) in models else "write the name of a model"
        yield Problem(location, f"is {format_value(baseline)}", fix)
    elif models and baseline not in models:
        names = [name for name in models if isinstance(name, str)]
        near = difflib.get_close_matches(baseline, names, n=1)
        fix = f"did you mean {near[0]!r}?" if near else f"name one of: {', '.join(names)}"
        problem = f"{baseline!r} is not among the models" if baseline else "is missing"
        yield Problem(location, problem, fix)
