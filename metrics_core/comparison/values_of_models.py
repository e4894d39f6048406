"""Values of another tool next to the lists of models: arguments, results and warnings."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from concord.metrics_core.comparison.arguments import ListArguments
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.replicate_config import REPLICATES
from concord.metrics_core.comparison.user_values import label_values, load_values
from concord.metrics_core.data.model import Model
from concord.metrics_core.data.tables import read_frame
from concord.metrics_core.data.value_files import USER
from concord.metrics_core.errors import Problem
from concord.metrics_core.evaluation.model_result import ModelResult, Models, results_by_list
from concord.metrics_core.evaluation.values_of_users import join_values, summarise_joined
from concord.metrics_core.evaluation.warnings.data import severity_of_rows
from concord.metrics_core.metrics.value_metric import NAME_OF_LISTS, OF_USERS, is_name_of_lists
from concord.metrics_core.results.comparison_parts import DataWarning


def split_values(parsed: ListArguments) -> Mapping[str, pl.DataFrame]:
    """Return the values of each list of `Model`s, and leave the lists in the arguments.

    The metrics are added to `parsed.labels`, and what is wrong to `parsed.problems`.
    """
    models = {name: each for name, each in parsed.lists.items() if isinstance(each, Model)}
    higher_is_better, bounds = parsed.options.higher_is_better, parsed.options.bounds
    parsed.lists = {**parsed.lists, **{name: each.lists for name, each in models.items()}}
    if not models:
        for name, value in (("higher_is_better", higher_is_better), ("bounds", bounds)):
            if value is not None:
                fix = "give models as `concord.Model(lists, values)`, or leave it out"
                parsed.problems.append(Problem(name, "is given, and no model has values", fix))
        return {}
    parsed.problems += _model_problems(parsed.lists, models)
    if parsed.conventions.unit_mean is not None:
        parsed.problems.append(Problem("unit", *OF_USERS))
    user = parsed.columns.get(USER) if isinstance(parsed.columns, Mapping) else None
    shared = {USER: user} if isinstance(user, str) else {}
    values = {name: each.values for name, each in models.items()}
    tables = parsed.parse(load_values, values, shared, default=None)
    if tables is None:
        return {}
    labels, problems = label_values(tables, higher_is_better, bounds)
    directions = higher_is_better if isinstance(higher_is_better, Mapping) else {}
    parsed.problems += [*problems, *_metric_problems(tables.metrics, directions)]
    parsed.labels = [*parsed.labels, *labels]
    return tables.tables


def _model_problems(lists: Mapping[str, Any], models: Mapping[str, Model]) -> Iterator[Problem]:
    """Yield models without values, and values of all replicates together."""
    for name, data in lists.items():
        if name not in models:
            problem = f"has no values, and {next(iter(models))} has some"
            yield Problem(name, problem, "give every model values, or none")
        elif isinstance(data, Mapping) and list(data) == [REPLICATES]:
            fix = "give each replicate its own: {'replicates': {1: Model(lists, values), …}}"
            yield Problem(name, "has replicates, and values for none of them", fix)


def _metric_problems(metrics: tuple[str, ...], directions: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield metrics without a direction, and those whose names are labels of lists."""
    for name in metrics:
        if is_name_of_lists(name):
            yield Problem(f"values: {name!r}", *NAME_OF_LISTS)
        elif name not in directions:
            problem = f"does not say whether a higher {name} is better"
            yield Problem("higher_is_better", problem, f"add {{{name!r}: False}} or True")


def with_values(
    results: Mapping[str, ModelResult], tables: Mapping[str, pl.DataFrame], config: ComparisonConfig
) -> dict[str, ModelResult]:
    """Return the results of all lists with the values of their users; unchanged without values."""
    labels = [label for label in config.labels if label.metric.is_of_values]
    joined = {}
    for name, values in tables.items():
        result = results[name]
        users = join_values(read_frame(result.values), values)
        metrics, counts = summarise_joined(
            users, values, labels, confidence=config.confidence, location=f"values[{name!r}]"
        )
        metrics = {**result.summary["metrics"], **metrics}
        summary = {**result.summary, "metrics": metrics, "values": counts}
        joined[name] = replace(result, values=users, summary=summary)
    return {**results, **joined}


def values_of_models_warnings(models: Models) -> Iterator[DataWarning]:
    """Yield a warning if values and evaluated users differ, counted by the lists they belong to."""
    summaries = {name: result.summary for name, result in results_by_list(models).items()}
    counts = {name: each["values"] for name, each in summaries.items() if "values" in each}
    differing = tuple(name for name, each in counts.items() if any(each.values()))
    if differing:
        worst = max(differing, key=lambda name: counts[name]["missing"])
        n_users = summaries[worst]["users"]["evaluated"]
        severity = severity_of_rows(counts[worst]["missing"], n_users)
        details = {
            "without_values": {name: counts[name]["missing"] for name in differing},
            "not_evaluated": {name: counts[name]["not_evaluated"] for name in differing},
            "n_users": n_users,
        }
        yield DataWarning("value_users_differ", severity, differing, details)
