"""Values per user that another tool computed: load and validate them, and warn about them."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.data.column_names import user_of_values
from concord.metrics_core.data.frames import ids_table, refuse_index, table_from_frame
from concord.metrics_core.data.value_files import (
    USER,
    not_numbers,
    range_problems,
    sorted_values,
    value_problems,
)
from concord.metrics_core.errors import Problem, format_count, raise_problems, refuse
from concord.metrics_core.evaluation.model_result import (
    ModelResult,
    no_lists_data,
    summarise_values,
    with_missing_users,
)
from concord.metrics_core.evaluation.score import MEAN_WEIGHT
from concord.metrics_core.evaluation.warnings.data import severity_of_rows
from concord.metrics_core.metrics.catalogue import METRIC
from concord.metrics_core.metrics.label import MAX_LENGTH, Label
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.metrics.value_metric import are_bounds, value_label
from concord.metrics_core.results.comparison_parts import DataWarning, most_serious_first

_FORMS = (
    "give a frame with a column 'user' and a column for each metric, or {metric: {user: value}}"
)
_IDS = "give ids as text or as 64-bit integers"


@dataclass(frozen=True)
class ValueTables:
    """Values per user of all models.

    Attributes
    ----------
    tables : dict
        Model -> `user` as text, sorted, and a Float64 column for each metric.
        NaN if the user does not count.
    metrics : tuple of str
        In the order of the first model.
    users : polars.Series
        All users of all models, sorted.
    """

    tables: Mapping[str, pl.DataFrame]
    metrics: tuple[str, ...]
    users: pl.Series


def load_values(values: Mapping[str, Any], columns: Mapping[str, Any]) -> ValueTables:
    """Return the validated values of all models.

    Parameters
    ----------
    columns : mapping
        `user` or a metric -> its name in the frames, of all models or by model.

    Raises
    ------
    InputError
        A table cannot be read, ids or values are invalid, or a model lacks a metric.
    """
    raise_problems(_column_problems(columns))
    shared = {name: column for name, column in columns.items() if isinstance(column, str)}
    of_model = {name: own for name, own in columns.items() if not isinstance(own, str)}
    frames = {
        model: _read_frame(table, f"values[{model!r}]", shared | of_model.get(model, {}))
        for model, table in values.items()
    }
    raise_problems(
        problem for model, frame in frames.items() for problem in _id_problems(model, frame)
    )
    metrics = tuple(name for name in next(iter(frames.values())).columns if name != USER)
    raise_problems(_metric_problems(frames, metrics))
    raise_problems(
        problem
        for model, frame in frames.items()
        for problem in value_problems(f"values[{model!r}]", frame)
    )
    tables = {model: sorted_values(frame, metrics) for model, frame in frames.items()}
    users = pl.concat([table[USER] for table in tables.values()]).unique().sort()
    return ValueTables(tables, metrics, users)


def value_inputs(config: ComparisonConfig, tables: Mapping[str, pl.DataFrame]) -> ComparisonInput:
    """Return the inputs of a comparison of models of which only values per user are known."""
    empty, models = pl.DataFrame(), {}
    for model, table in tables.items():
        summary = summarise_values(table, config.labels, confidence=config.confidence)
        models[model] = ModelResult(table, panel=empty, lists=empty, summary=summary, quality={})
    return ComparisonInput(config, with_missing_users(models), no_lists_data())


def label_values(
    tables: ValueTables, higher_is_better: Any, bounds: Any
) -> tuple[list[Label], list[Problem]]:
    """Return a label for each metric, and what is wrong with their directions and bounds.

    Parameters
    ----------
    higher_is_better : dict or None
        Metric -> False if the lowest value is the best.
    bounds : dict or None
        Metric -> (lowest, highest) possible value.
    """
    problems = [*_dict_problems(higher_is_better=higher_is_better, bounds=bounds)]
    ranges = dict(bounds or {}) if isinstance(bounds, Mapping) else {}
    directions = dict(higher_is_better or {}) if isinstance(higher_is_better, Mapping) else {}
    invalid_bounds = list(_bound_problems(tables, ranges))
    labels = [
        value_label(
            name,
            higher_is_better=directions.get(name, True),
            bounds=UNBOUNDED if invalid_bounds else ranges.get(name, UNBOUNDED),
        )
        for name in tables.metrics
    ]
    return labels, [*problems, *invalid_bounds, *_direction_problems(tables, directions)]


def _dict_problems(*, higher_is_better: Any, bounds: Any) -> Iterator[Problem]:
    if higher_is_better is not None and not isinstance(higher_is_better, Mapping):
        fix = "write a dict such as {'RMSE': False}"
        yield Problem("higher_is_better", f"is {format_value(higher_is_better)}", fix)
    if bounds is not None and not isinstance(bounds, Mapping):
        yield Problem("bounds", f"is {format_value(bounds)}", "write a dict such as {'AP': (0, 1)}")


def _bound_problems(tables: ValueTables, bounds: Mapping[str, Bounds]) -> Iterator[Problem]:
    """Yield invalid bounds, and values outside of the bounds."""
    for metric, pair in bounds.items():
        location = f"bounds[{metric!r}]"
        if metric not in tables.metrics:
            yield _unknown_metric("bounds", metric, tables.metrics)
        elif not are_bounds(pair):
            fix = "write (lowest, highest), such as (0, 1)"
            yield Problem(location, f"is {format_value(pair)}", fix)
        else:
            for model, table in tables.tables.items():
                yield from range_problems(f"values[{model!r}]", table[USER], table[metric], pair)


def _direction_problems(tables: ValueTables, directions: Mapping[str, bool]) -> Iterator[Problem]:
    for name, higher in directions.items():
        if name not in tables.metrics:
            yield _unknown_metric("higher_is_better", name, tables.metrics)
        elif not isinstance(higher, bool):
            yield Problem(
                f"higher_is_better[{name!r}]", f"is {format_value(higher)}", "write True or False"
            )


def _unknown_metric(location: str, metric: Any, metrics: Collection[str]) -> Problem:
    """Return the problem of a metric that no table has."""
    fix = f"name one of: {', '.join(metrics)}"
    return Problem(location, f"{format_value(metric)} has no values", fix)


def _column_problems(columns: Any) -> Iterator[Problem]:
    fix = "write {'user': 'question'}, or {model: {'user': 'question'}}"
    if not isinstance(columns, Mapping):
        yield Problem("columns", f"is {format_value(columns)}", fix)
        return
    for name, column in columns.items():
        names = column.values() if isinstance(column, Mapping) else [column]
        if not all(isinstance(each, str) for each in names):
            yield Problem(f"columns[{name!r}]", f"is {format_value(column)}", fix)


def _read_frame(table: Any, location: str, columns: Mapping[str, str]) -> pl.DataFrame:
    if isinstance(table, str):
        raise refuse(location, "is a text", _FORMS)
    if isinstance(table, Mapping):
        frame = _frame_from_dict(table, location)
        columns = {name: column for name, column in columns.items() if name != USER}
    else:
        refuse_index(table, location, {USER: columns.get(USER, USER)})
        frame = pl.DataFrame(table_from_frame(table, location))
    if len({*columns.values()}) < len(columns):
        raise refuse("columns", "has two names for one column", "give each column one name")
    if missing := [column for column in columns.values() if column not in frame.columns]:
        problem = f"has no column {missing[0]!r} (there are: {', '.join(frame.columns) or 'none'})"
        raise refuse(location, problem, "correct its name in `columns`")
    if not {USER} & {*columns, *frame.columns} and (user := user_of_values(frame.columns)):
        columns = {USER: user, **columns}
    renamed = frame.drop(
        name for name in columns if name in frame.columns and name not in columns.values()
    )
    return renamed.rename({column: name for name, column in columns.items()})


def _frame_from_dict(by_metric: Mapping[Any, Any], location: str) -> pl.DataFrame:
    """Return {metric: {user: value}} as a frame of all users."""
    if not by_metric:
        raise refuse(location, "is empty", _FORMS)
    if not all(isinstance(values, Mapping) for values in by_metric.values()):
        raise refuse(location, "is a dict whose values are not all dicts", _FORMS)
    users = list(dict.fromkeys(user for values in by_metric.values() for user in values))
    columns = [pl.Series(USER, ids_table(users, location, USER)[USER])]
    for metric, values in by_metric.items():
        if not isinstance(metric, str) or metric == USER:
            raise refuse(location, f"{format_value(metric)} cannot be the name of a metric", _FORMS)
        if not all(value is None or isinstance(value, Real) for value in values.values()):
            raise not_numbers(location, metric)
        numbers = [np.nan if (value := values.get(user)) is None else value for user in users]
        columns.append(pl.Series(metric, np.array(numbers, dtype=np.float64)))
    return pl.DataFrame(columns)


def _id_problems(model: str, frame: pl.DataFrame) -> Iterator[Problem]:
    location = f"values[{model!r}]"
    if USER not in frame.columns:
        problem = f"has no column 'user' (there are: {', '.join(frame.columns) or 'none'})"
        fix = "name the column of users, topics or queries: columns={'user': 'its name'}"
        yield Problem(location, problem, fix)
        return
    users = frame[USER]
    column = f"{location}: column 'user'"
    if not frame.height:
        yield Problem(location, "has no users", _FORMS)
    elif not (users.dtype.is_integer() or users.dtype in {pl.String, pl.Categorical, pl.Enum}):
        yield Problem(column, f"is of type {users.dtype}", _IDS)
    elif nulls := users.null_count():
        yield Problem(column, f"is empty in {format_count(nulls, 'row')}", _IDS)
    elif n_duplicates := frame.height - users.n_unique():
        first = users.filter(users.is_duplicated())[0]
        rows = format_count(n_duplicates, "row")
        problem = f"user {first!r} occurs more than once; {rows} too many"
        yield Problem(location, problem, "give each user one row")


def _metric_problems(
    frames: Mapping[str, pl.DataFrame], metrics: tuple[str, ...]
) -> Iterator[Problem]:
    """Yield tables without metrics, invalid names, and metrics that not all models have."""
    first = next(iter(frames))
    if not metrics:
        yield Problem(f"values[{first!r}]", "has no column besides 'user'", _FORMS)
    for name in metrics:
        if not name.strip() or not name.isprintable() or len(name) > MAX_LENGTH:
            problem = f"{format_value(name)} cannot be the name of a metric"
            fix = f"rename it: a text that can be printed, of at most {MAX_LENGTH} characters"
            yield Problem(f"values[{first!r}]", problem, fix)
        elif name.startswith(MEAN_WEIGHT):
            problem = (
                "holds values of `propensity.normalised: over_all`, whose means are not over users"
            )
            yield Problem(f"values[{first!r}]", problem, "compare the lists with `concord.compare`")
    for model, frame in frames.items():
        for name in metrics:
            if name not in frame.columns:
                fix = f"give every model the same metrics; {first} has it"
                yield Problem(f"values[{model!r}]", f"has no metric {name!r}", fix)
        for name in frame.columns:
            if name not in {USER, *metrics}:
                fix = f"give every model the same metrics; {first} does not have it"
                yield Problem(f"values[{model!r}]", f"has a metric {name!r}", fix)


# Words of metrics whose lowest value is the best in most tools.
_ERRORS = {"error", "rmse", "mse", "mae", "mape", "loss", "logloss", "ece", "perplexity"}
_ERROR_WORDS = frozenset(_ERRORS | {"latency", "seconds"})


def value_warnings(inputs: ComparisonInput, directed_metrics: Collection[str]) -> list[DataWarning]:
    """Return the warnings about values that other tools computed, the most serious first.

    Parameters
    ----------
    directed_metrics : collection of str
        Metrics for which the caller set whether higher or lower is better.
    """
    return most_serious_first(
        [*_missing_values(inputs), *_unclear_directions(inputs.config, directed_metrics)]
    )


def _missing_values(inputs: ComparisonInput) -> Iterator[DataWarning]:
    """Yield a warning if models lack a value, of any metric and user, that another model has."""
    models, lacks = inputs.models, dict.fromkeys(inputs.models, np.False_)
    for label in inputs.config.labels:
        values = {m: np.isnan(inputs.aligned.column(m, str(label), "skip")) for m in models}
        is_known = ~np.logical_and.reduce([*values.values()])
        lacks = {m: lacks[m] | (is_known & is_missing) for m, is_missing in values.items()}
    counts = {model: int(np.count_nonzero(each)) for model, each in lacks.items()}
    missing = {model: count for model, count in counts.items() if count}
    if missing:
        most = max(missing, key=missing.__getitem__)
        n_users = models[most].summary["users"]["evaluated"]
        severity = severity_of_rows(missing[most], n_users)
        details = {"without_values": missing, "n_users": n_users}
        yield DataWarning("user_sets_differ", severity, tuple(missing), details)


def _unclear_directions(
    config: ComparisonConfig, directed_metrics: Collection[str]
) -> Iterator[DataWarning]:
    """Warn of metrics treated as higher-is-better although their names suggest the opposite."""
    labels = [label for label in config.labels if str(label) not in directed_metrics]
    metrics = [str(label) for label in labels if _sounds_lower_is_better(label)]
    if metrics:
        yield DataWarning("direction_unclear", "serious", (), {"metrics": metrics})


def _sounds_lower_is_better(label: Label) -> bool:
    known = METRIC.get(label.name.partition("(")[0])
    words = re.split(r"[\W_]+", label.name.casefold())
    return (known is not None and not known.higher_is_better) or not _ERROR_WORDS.isdisjoint(words)
