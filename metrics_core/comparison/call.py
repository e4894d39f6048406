"""A call of `compare`: its arguments, the choices that it leaves open, and its evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from concord.metrics_core.comparison.arguments import ListArguments, parse_list_arguments
from concord.metrics_core.comparison.config import (
    ComparisonConfig,
    ComparisonOptions,
    model_problems,
)
from concord.metrics_core.comparison.defaults import MIN_EFFECT, Choices, choose
from concord.metrics_core.comparison.gate_inputs import gate_models
from concord.metrics_core.comparison.inputs import ComparisonInput, evaluate_models, table_settings
from concord.metrics_core.comparison.min_effect import Effects
from concord.metrics_core.comparison.options import Options
from concord.metrics_core.comparison.replicate_config import (
    parse_truths,
    split_replicates,
)
from concord.metrics_core.comparison.replicates import with_replicates
from concord.metrics_core.comparison.values_of_models import split_values, with_values
from concord.metrics_core.conventions.presets import ConventionsLike, resolve_conventions
from concord.metrics_core.data.argument_types import Data, ModelColumns, Truth
from concord.metrics_core.data.arguments import ROLES
from concord.metrics_core.data.filters import split_models
from concord.metrics_core.data.model import Model, lists_of
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.errors import raise_problems, refuse
from concord.metrics_core.evaluation.accumulator import build_panels
from concord.metrics_core.evaluation.reference import compute_references

NO_VALUES: Mapping[str, pl.DataFrame] = {}


@dataclass(frozen=True, kw_only=True)
class ComparisonCall:
    """The arguments of `compare`, complete.

    Attributes
    ----------
    models : dict
        Name -> recommendations, or replicates.
    options : Options
        Its field `model` has no effect: `models` is a dict already.
    chosen : tuple of str
        Arguments that were chosen from the tables.
    """

    models: Mapping[str, Any]
    truth: Truth
    metrics: Sequence[str]
    baseline: str
    primary: Sequence[str] | None
    min_effect: Effects
    conventions: ConventionsLike
    columns: ModelColumns | None
    train: Data | None
    items: Data | None
    users: Data | None
    options: Options
    chosen: tuple[str, ...] = ()

    @property
    def side_data(self) -> dict[str, Data | None]:
        """Tables other than lists and ground truth, by role."""
        return {"train": self.train, "items": self.items, "users": self.users}

    def evaluate(self) -> ComparisonInput:
        """Return the evaluated models, and the data behind them.

        Raises
        ------
        InputError
            The data or arguments are invalid; all problems at once.
        """
        parsed, options = self._parse(), self.options
        values = split_values(parsed, options.higher_is_better, options.bounds, self.columns)
        config = self._config(parsed)
        if config.gate is not None and not gate_models(config, self.models):
            problem = f"there is no model besides the baseline, {self.baseline}, to decide on"
            raise refuse("gate", problem, "name another model, or leave out `gate`")
        return evaluate_tables(
            config,
            parsed.lists,
            parsed.truths,
            self.side_data,
            values=values,
            columns=self.columns,
            input=options.input,
            unit=options.unit,
            words=options.words,
            where=options.where,
        )

    def _parse(self) -> ListArguments:
        options = self.options
        return parse_list_arguments(
            self.models,
            self.truth,
            metrics=self.metrics,
            conventions=self.conventions,
            tables=self.side_data,
            columns=self.columns,
            segments=options.segments,
            gate=options.gate,
            checks=options.checks,
            acknowledge=options.acknowledge,
            unit=options.unit,
            words=options.words,
        )

    def _config(self, parsed: ListArguments) -> ComparisonConfig:
        return parsed.config(
            ComparisonOptions(
                **self.options.statistics,
                baseline=self.baseline,
                primary=self.primary,
                min_effect=self.min_effect,
                segments=parsed.segments,
                gate=parsed.gate,
                checks=parsed.checks,
                acknowledge=parsed.acknowledge,
            )
        )


def evaluate_tables(
    config: ComparisonConfig,
    lists: Mapping[str, Data],
    truths: Mapping[str, Truth],
    side_data: Mapping[str, Data | None],
    *,
    values: Mapping[str, pl.DataFrame] = NO_VALUES,
    input: Mapping[str, Any] | None,
    **options: Any,
) -> ComparisonInput:
    """Return evaluated lists with their values, references and data.

    Parameters are those of `evaluate_models`; `values` are those next to lists, by name.
    """
    of_lists = config.of_lists
    panels = build_panels(
        of_lists.labels, config.primary if config.panel else (), config.conventions
    )
    results, data = evaluate_models(
        of_lists, lists, truths, side_data, input=input, panels=panels, **options
    )
    references = compute_references(
        of_lists.labels,
        config.conventions,
        data,
        lists_unknown_items=parse_policies(input or {}).unknown_items == "keep",
    )
    models = with_replicates(with_values(results, values, config), config)
    return ComparisonInput(config, models, data, references=references)


def complete_call(
    models: Mapping[str, Data | Model] | Data,
    truth: Truth,
    *,
    metrics: Sequence[str] | None,
    baseline: str | None,
    primary: Sequence[str] | None,
    min_effect: Effects | None,
    conventions: ConventionsLike | None,
    columns: ModelColumns | None,
    options: Options,
    **tables: Data | None,
) -> ComparisonCall:
    """Return the call with a table for each model, and with all that was not given.

    The last model of a dict is the baseline. Without metrics, these and other arguments that were
    not given are chosen as by `concord init`.
    """
    by_name, where = split_models(models, options.model, options.where)
    if baseline is None and by_name is models and isinstance(models, Mapping):
        baseline = next(reversed([*models]), None)
    # Copies: the caller may change its dicts and lists, and the result remembers this call.
    options, columns = deepcopy(replace(options, where=where)), deepcopy(columns)
    chosen: tuple[str, ...] = ()
    if metrics is None:
        raise_problems(model_problems(by_name))
        choices = _choose(by_name, truth, columns, options, tables, finds_unit=conventions is None)
        metrics, chosen = choices.metrics, ("metrics",)
        if primary is None:
            primary, chosen = choices.primary, (*chosen, "primary")
        if min_effect is None:
            min_effect, chosen = MIN_EFFECT, (*chosen, "min_effect")
        if conventions is None:
            conventions = resolve_conventions(choices.conventions)
            chosen = (*chosen, "conventions")
            options = replace(options, unit=choices.unit)
    return ComparisonCall(
        models={**by_name} if isinstance(by_name, Mapping) else by_name,
        truth=truth,
        metrics=[*metrics] if isinstance(metrics, tuple | list) else metrics,
        baseline="" if baseline is None else baseline,
        primary=deepcopy(primary),
        min_effect=0.0 if min_effect is None else deepcopy(min_effect),
        conventions="standard" if conventions is None else deepcopy(conventions),
        columns=columns,
        options=options,
        chosen=chosen,
        **tables,
    )


def _choose(
    models: Mapping[str, Any],
    truth: Any,
    columns: ModelColumns | None,
    options: Options,
    tables: Mapping[str, Data | None],
    *,
    finds_unit: bool,
) -> Choices:
    """Return the choices from the lists and the first ground truth."""
    lists, replicates = split_replicates(models)
    lists = {name: lists_of(each) for name, each in lists.items()}
    roles = {**dict.fromkeys(lists, "recs"), **{name: name for name in ROLES if name != "recs"}}
    names, filters = table_settings(columns, options.where, roles, replicates)
    first = next(iter(parse_truths(truth).values()))
    unit = options.unit if options.unit or finds_unit else ("user",)
    given = [name for name, table in tables.items() if table is not None]
    return choose(lists, first, names, filters, unit=unit, side_data=given)
