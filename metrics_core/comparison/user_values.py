"""Users' values that a caller holds: frames or dicts in, one checked table for each model out."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.conventions.convention import format_value, is_number
from concord.metrics_core.data.frames import ids_table, table_from_frame
from concord.metrics_core.errors import InputError, Problem, format_count, raise_problems, refuse
from concord.metrics_core.evaluation.score import MEAN_WEIGHT
from concord.metrics_core.metrics.label import MAX_LENGTH
from concord.metrics_core.metrics.metric import Bounds

USER = "user"
_FORMS = (
    "give a frame with a column 'user' and a column for each metric, or {metric: {user: value}}"
)
_IDS = "give ids as text or as 64-bit integers"


@dataclass(frozen=True)
class ValueTables:
    """Users' values of all models, with the users of each table sorted.

    tables  : model -> `user` as text, then a Float64 column for each metric; NaN where the user does not count
    metrics : in the order of the first model
    users   : all users of all models, sorted
    """

    tables: Mapping[str, pl.DataFrame]
    metrics: tuple[str, ...]
    users: pl.Series

    def missing(self, model: str) -> int:
        """Return how many users have a row in another model's table and none in this one."""
        return len(self.users) - self.tables[model].height


def load_values(values: Mapping[str, Any]) -> ValueTables:
    """Return the checked values of all models.

    Raises
    ------
    InputError : a table that cannot be read, ids or values that are invalid, or a metric that a model lacks
    """
    frames = {model: _frame(given, f"values[{model!r}]") for model, given in values.items()}
    raise_problems(
        problem for model, frame in frames.items() for problem in _id_problems(model, frame)
    )
    metrics = tuple(name for name in next(iter(frames.values())).columns if name != USER)
    raise_problems(_metric_problems(frames, metrics))
    raise_problems(
        problem for model, frame in frames.items() for problem in _value_problems(model, frame)
    )
    tables = {
        model: frame.select(
            pl.col(USER).cast(pl.String),
            *(pl.col(name).cast(pl.Float64).fill_null(np.nan) for name in metrics),
        ).sort(USER)
        for model, frame in frames.items()
    }
    users = pl.concat([table[USER] for table in tables.values()]).unique().sort()
    return ValueTables(tables, metrics, users)


def bound_problems(tables: ValueTables, bounds: Mapping[str, Bounds]) -> Iterator[Problem]:
    """Bounds that are invalid, and values outside them."""
    for metric, given in bounds.items():
        where = f"bounds[{metric!r}]"
        if metric not in tables.metrics:
            yield unknown_metric("bounds", metric, tables.metrics)
        elif not _are_bounds(given):
            yield Problem(
                where, f"is {format_value(given)}", "write (lowest, highest), such as (0, 1)"
            )
        else:
            yield from _outside(tables, metric, given)


def unknown_metric(where: str, metric: Any, metrics: Collection[str]) -> Problem:
    """The problem of a metric that no table has."""
    return Problem(
        where, f"{format_value(metric)} has no values", f"name one of: {', '.join(metrics)}"
    )


def _are_bounds(given: Any) -> bool:
    if not isinstance(given, tuple | list) or len(given) != 2:  # noqa: PLR2004 - two ends
        return False
    known = all(is_number(end) or end in {-math.inf, math.inf} for end in given)
    return known and given[0] < given[1]


def _outside(tables: ValueTables, metric: str, bounds: Bounds) -> Iterator[Problem]:
    low, high = bounds
    for model, table in tables.tables.items():
        found = table.filter((pl.col(metric) < low) | (pl.col(metric) > high))  # NaN is no number
        found = found.filter(pl.col(metric).is_not_nan())
        if found.height:
            user, value = found[USER][0], found[metric][0]
            what = f"{metric} of user {user!r} is {value:g}, and its bounds are {low:g} to {high:g}"
            more = f"; {format_count(found.height, 'value')} affected"
            yield Problem(f"values[{model!r}]", what + more, "correct the values or the bounds")


def _frame(given: Any, where: str) -> pl.DataFrame:
    if isinstance(given, Mapping):
        return _from_dict(given, where)
    if isinstance(given, str):
        raise refuse(where, "is a text", _FORMS)
    return pl.DataFrame(table_from_frame(given, where))


def _from_dict(given: Mapping[Any, Any], where: str) -> pl.DataFrame:
    """{metric: {user: value}} as a frame of all users that occur."""
    if not given:
        raise refuse(where, "is empty", _FORMS)
    if not all(isinstance(held, Mapping) for held in given.values()):
        raise refuse(where, "is a dict whose values are not all dicts", _FORMS)
    users = list(dict.fromkeys(user for held in given.values() for user in held))
    columns = [pl.Series(USER, ids_table(users, where, USER)[USER])]
    for metric, held in given.items():
        if not isinstance(metric, str) or metric == USER:
            raise refuse(where, f"{format_value(metric)} is no name of a metric", _FORMS)
        if not all(value is None or isinstance(value, Real) for value in held.values()):
            raise _no_numbers(where, metric)
        numbers = [np.nan if (value := held.get(user)) is None else value for user in users]
        columns.append(pl.Series(metric, np.array(numbers, dtype=np.float64)))
    return pl.DataFrame(columns)


def _id_problems(model: str, frame: pl.DataFrame) -> Iterator[Problem]:
    where = f"values[{model!r}]"
    if USER not in frame.columns:
        what = f"has no column 'user' (there are: {', '.join(frame.columns) or 'none'})"
        yield Problem(where, what, "rename the column that holds the users, topics or queries")
        return
    users = frame[USER]
    if not frame.height:
        yield Problem(where, "has no users", _FORMS)
    elif not (users.dtype.is_integer() or users.dtype in {pl.String, pl.Categorical, pl.Enum}):
        yield Problem(f"{where}: column 'user'", f"is of type {users.dtype}", _IDS)
    elif nulls := users.null_count():
        yield Problem(f"{where}: column 'user'", f"is empty in {format_count(nulls, 'row')}", _IDS)
    elif twice := frame.height - users.n_unique():
        first = users.filter(users.is_duplicated())[0]
        what = f"user {first!r} occurs more than once; {format_count(twice, 'row')} too many"
        yield Problem(where, what, "give each user one row")


def _metric_problems(
    frames: Mapping[str, pl.DataFrame], metrics: tuple[str, ...]
) -> Iterator[Problem]:
    """Tables without metrics, names that are no label, and metrics that a model lacks or has alone."""
    first = next(iter(frames))
    if not metrics:
        yield Problem(f"values[{first!r}]", "has no column beside 'user'", _FORMS)
    for name in metrics:
        if not name.strip() or not name.isprintable() or len(name) > MAX_LENGTH:
            fix = f"rename it: a text that can be printed, of at most {MAX_LENGTH} characters"
            yield Problem(f"values[{first!r}]", f"{format_value(name)} is no name of a metric", fix)
        elif name.startswith(MEAN_WEIGHT):
            what = "holds values of `propensity.normalised: over_all`, whose means are no means over users"
            yield Problem(f"values[{first!r}]", what, "compare the lists with `concord.compare`")
    for model, frame in frames.items():
        for name in metrics:
            if name not in frame.columns:
                fix = f"give every model the same metrics; {first} has it"
                yield Problem(f"values[{model!r}]", f"has no metric {name!r}", fix)
        for name in frame.columns:
            if name not in {USER, *metrics}:
                fix = f"give every model the same metrics; {first} does not have it"
                yield Problem(f"values[{model!r}]", f"has a metric {name!r}", fix)


def _value_problems(model: str, frame: pl.DataFrame) -> Iterator[Problem]:
    where = f"values[{model!r}]"
    for column in frame.select(pl.exclude(USER)):
        kind = column.dtype
        if not (kind.is_numeric() or kind in {pl.Boolean, pl.Null}):
            yield from _no_numbers(where, column.name).problems
        elif kind.is_float() and (infinite := column.is_infinite().fill_null(value=False)).any():
            user = frame[USER].filter(infinite)[0]
            what = f"{column.name} of user {user!r} is infinite; {format_count(int(infinite.sum()), 'value')} affected"
            yield Problem(where, what, "write NaN where a user has no value")


def _no_numbers(where: str, metric: str) -> InputError:
    fix = "give numbers, and NaN or None where a user has no value; leave out columns that hold no metric"
    return refuse(where, f"{metric!r} does not hold numbers", fix)
