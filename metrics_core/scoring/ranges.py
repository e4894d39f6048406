"""Ranges of users: partitions that follow each other in the order of the ids."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from duckdb import ColumnExpression, ConstantExpression, DuckDBPyRelation

Some = TypeVar("Some")


def in_range(rows: DuckDBPyRelation, low: Any, high: Any) -> DuckDBPyRelation:
    """The rows of the users from `low` on and before `high`; None: there is no such bound."""
    user = ColumnExpression("user")
    if low is not None:
        rows = rows.filter(user >= ConstantExpression(low))
    if high is not None:
        rows = rows.filter(user < ConstantExpression(high))
    return rows


def one_ahead(parts: Iterator[Some]) -> Iterator[Some]:
    """The next is made while one is used."""
    with ThreadPoolExecutor(1) as beside:
        coming = beside.submit(next, parts, None)
        while (part := coming.result()) is not None:
            coming = beside.submit(next, parts, None)
            yield part
