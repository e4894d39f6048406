"""Values per user that another tool computed: read from a file, and checks of any table of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.feature_tables import read_table
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.quality import describe_table
from concord.metrics_core.data.read_source import Progress, no_progress
from concord.metrics_core.errors import (
    InputError,
    Problem,
    format_count,
    raise_problems,
    refuse,
)

USER = "user"
Bounds = tuple[float, float]  # lowest and highest value of a metric
SMALLEST, LARGEST = 1e-100, 1e100  # of the largest value of a metric: squares must be numbers


def read_value_file(
    connection: DuckDBPyConnection,
    table: InputTable,
    bounds: Mapping[str, Bounds],
    *,
    progress: Progress = no_progress,
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the values, as `load_values` of tables in memory, and the description of the file.

    Parameters
    ----------
    table : InputTable
        Its required column is the user; all columns are mapped.
    bounds : dict
        Metric -> (lowest, highest) possible value.

    Raises
    ------
    InputError
        The file cannot be read, an id is missing or occurs twice, or a value is invalid; all
        problems at once.
    """
    frame, source = read_table(connection, table, progress=progress)
    frame = frame.select(USER, *bounds)
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String and name != USER]
    numbers = frame.with_columns(pl.col(texts).str.strip_chars().cast(pl.Float64, strict=False))
    raise_problems(
        [
            *(p for name in texts for p in _text_problems(table, frame, numbers[name])),
            *value_problems(table.name, numbers),
        ]
    )
    values = sorted_values(numbers, bounds)
    raise_problems(
        problem
        for name, ends in bounds.items()
        for problem in range_problems(table.name, values[USER], values[name], ends)
    )
    return values, describe_table(source) | {"users": values.height}


def _text_problems(table: InputTable, frame: pl.DataFrame, numbers: pl.Series) -> Iterator[Problem]:
    """Yield a problem for text that is not a number; empty text is a missing value."""
    text = frame[numbers.name].str.strip_chars()
    invalid = numbers.is_null() & (text.fill_null("") != "")
    if n_invalid := int(invalid.sum()):
        user, value = frame[USER].filter(invalid)[0], text.filter(invalid)[0]
        problem = f"{value!r} of user {user!r} is not a number"
        fix = "write numbers, and leave a cell empty where a user has no value"
        affected = format_count(n_invalid, "value")
        yield Problem(table.location(numbers.name), f"{problem}; {affected} affected", fix)


def sorted_values(frame: pl.DataFrame, metrics: Iterable[str]) -> pl.DataFrame:
    """Return `user` as text, sorted, and float64 columns with NaN for users who do not count."""
    return frame.select(
        pl.col(USER).cast(pl.String),
        *(pl.col(name).cast(pl.Float64).fill_null(np.nan) for name in metrics),
    ).sort(USER)


def value_problems(location: str, frame: pl.DataFrame) -> Iterator[Problem]:
    """Yield columns that do not hold numbers, infinite values, and values that have no square."""
    for column in frame.select(pl.exclude(USER)):
        dtype = column.dtype
        if not (dtype.is_numeric() or dtype in {pl.Boolean, pl.Null}):
            yield from not_numbers(location, column.name).problems
        elif dtype.is_float() and (infinite := column.is_infinite().fill_null(value=False)).any():
            user = frame[USER].filter(infinite)[0]
            count = format_count(int(infinite.sum()), "value")
            problem = f"{column.name} of user {user!r} is infinite; {count} affected"
            yield Problem(location, problem, "write NaN where a user has no value")
        elif dtype.is_float():
            yield from _size_problems(location, frame[USER], column.cast(pl.Float64))


def _size_problems(location: str, users: pl.Series, values: pl.Series) -> Iterator[Problem]:
    """Yield the problem of values whose squares are beyond float64."""
    sizes = values.abs().fill_nan(0).fill_null(0).to_numpy()
    largest = sizes.max(initial=0.0)
    if largest and not SMALLEST <= largest <= LARGEST:
        row = int(sizes.argmax())
        problem = f"{values.name} of user {users[row]!r} is {values[row]:g}"
        problem += f", the largest value; the tests need one from {SMALLEST:g} to {LARGEST:g}"
        yield Problem(location, problem, f"write {values.name} in another unit")


def not_numbers(location: str, metric: str) -> InputError:
    """Return the error for a column of a metric that does not hold numbers."""
    fix = (
        "give numbers, and NaN or None where a user has no value; "
        "remove columns that are not metrics"
    )
    return refuse(location, f"{metric!r} does not hold numbers", fix)


def range_problems(
    location: str, users: pl.Series, values: pl.Series, bounds: Bounds
) -> Iterator[Problem]:
    """Yield the values of a metric outside of its bounds; values are float64."""
    low, high = bounds
    outside = ((values < low) | (values > high)) & values.is_not_nan()  # polars: NaN > 1
    if n_outside := int(outside.sum()):
        user, value = users.filter(outside)[0], values.filter(outside)[0]
        problem = (
            f"{values.name} of user {user!r} is {value:g}, and its bounds are {low:g} to "
            f"{high:g}; {format_count(n_outside, 'value')} affected"
        )
        yield Problem(location, problem, "correct the values or the bounds")
