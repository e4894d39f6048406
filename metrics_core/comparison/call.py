"""A call of `compare`: its arguments, the choices that it leaves open, and its evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from concord.metrics_core.comparison.arguments import ListArguments, parse_list_arguments
from concord.metrics_core.comparison.config import ComparisonConfig, model_problems
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
from concord.metrics_core.data.filters import split_models
from concord.metrics_core.data.model import lists_of
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.errors import raise_problems, refuse
from concord.metrics_core.evaluation.accumulator import build_panels
from concord.metrics_core.evaluation.reference import compute_references


@dataclass(frozen=True, kw_only=True)
class ComparisonCall:
    """The arguments of `compare`.

    Attributes
    ----------
    models : dict
        Name -> recommendations, or replicates; a table of all models until the call is complete.
    options : Options
        Its field `model` has no effect in a complete call.
    chosen : tuple of str
        Arguments that were chosen from the tables.
    """

    models: Any
    truth: Truth
    metrics: Sequence[str] | None
    baseline: str | None
    primary: Sequence[str] | None
    min_effect: Effects | None
    conventions: ConventionsLike | None
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

    def completed(self) -> ComparisonCall:
        """Return the call with a table for each model, and with all that was not given.

        The last model of a dict is the baseline. Without metrics, these and other arguments that
        were not given are chosen as by `concord init`.
        """
        models, where = split_models(self.models, self.options.model, self.options.where)
        baseline = self.baseline
        if baseline is None and models is self.models and isinstance(models, Mapping):
            baseline = next(reversed([*models]), None)
        call = replace(
            self,
            models={**models} if isinstance(models, Mapping) else models,
            metrics=[*self.metrics] if isinstance(self.metrics, tuple | list) else self.metrics,
            baseline=baseline,
            # Copies: the caller may change its dicts and lists, and the result remembers this call.
            primary=deepcopy(self.primary),
            min_effect=deepcopy(self.min_effect),
            conventions=deepcopy(self.conventions),
            columns=deepcopy(self.columns),
            options=deepcopy(replace(self.options, where=where)),
        )
        call = call._with_choices() if call.metrics is None else call
        return call if call.conventions is not None else replace(call, conventions="standard")

    def _with_choices(self) -> ComparisonCall:
        raise_problems(model_problems(self.models))
        choices, options = self._choose(), self.options
        chosen: dict[str, Any] = {"metrics": choices.metrics}
        if self.primary is None:
            chosen["primary"] = choices.primary
        if self.min_effect is None:
            chosen["min_effect"] = MIN_EFFECT
        if self.conventions is None:
            chosen["conventions"] = resolve_conventions(choices.conventions)
            options = replace(options, unit=choices.unit)
        return replace(self, **chosen, options=options, chosen=tuple(chosen))

    def _choose(self) -> Choices:
        """Return the choices from the lists and the first ground truth."""
        lists, replicates = split_replicates(self.models)
        lists = {name: lists_of(each) for name, each in lists.items()}
        names, filters = table_settings(
            self.columns, self.options.where, lists, self.side_data, replicates
        )
        first = next(iter(parse_truths(self.truth).values()))
        finds_unit = self.options.unit or self.conventions is None
        unit = self.options.unit if finds_unit else ("user",)
        given = [name for name, table in self.side_data.items() if table is not None]
        return choose(lists, first, names, filters, unit=unit, side_data=given)

    def evaluate(self) -> ComparisonInput:
        """Return the evaluated models of a complete call, and the data behind them.

        Raises
        ------
        InputError
            The data or arguments are invalid; all problems at once.
        """
        parsed = parse_list_arguments(
            self.models,
            self.truth,
            metrics=self.metrics,
            conventions=self.conventions,
            tables=self.side_data,
            columns=self.columns,
            options=self.options,
        )
        values = split_values(parsed)
        config = parsed.config(self.baseline, self.primary, self.min_effect)
        if config.gate is not None and not gate_models(config, parsed.models):
            problem = f"there is no model besides the baseline, {self.baseline}, to decide on"
            raise refuse("gate", problem, "name another model, or leave out `gate`")
        return evaluate_arguments(config, parsed, values)


def evaluate_arguments(
    config: ComparisonConfig,
    arguments: ListArguments,
    values: Mapping[str, pl.DataFrame],
) -> ComparisonInput:
    """Return evaluated lists with their references and data; `values` are those next to lists."""
    of_lists = config.of_lists
    panels = build_panels(
        of_lists.labels, config.primary if config.panel else (), config.conventions
    )
    results, data = evaluate_models(of_lists, arguments, panels=panels)
    policies = parse_policies(arguments.options.input or {})
    references = compute_references(
        of_lists.labels,
        config.conventions,
        data,
        lists_unknown_items=policies.unknown_items == "keep",
    )
    models = with_replicates(with_values(results, values, config), config)
    return ComparisonInput(config, models, data, references=references)
