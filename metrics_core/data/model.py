"""A model with values per user next to its lists."""

from dataclasses import dataclass
from typing import Any

from concord.metrics_core.data.argument_types import Data


@dataclass(frozen=True, eq=False)
class Model:
    """A model's recommendations, and values per user next to them, such as latency or cost.

    `compare` reads it; other functions take the lists.

    Attributes
    ----------
    lists : DataFrame, path or dict
        Recommendations as `compare` takes them.
    values : DataFrame or dict
        A column `user` and a column of numbers for each metric, or {metric: {user: value}},
        as `compare_values` takes them.

    Examples
    --------
    >>> import concord as cc
    >>> truth = {user: {"a": 1} for user in range(40)}
    >>> lists = {user: ["a", "b"] for user in truth}
    >>> slow = {"latency_ms": {user: 90 + user % 3 for user in truth}}
    >>> fast = {"latency_ms": {user: 40 + user % 5 for user in truth}}
    >>> comparison = cc.compare(
    ...     {"small": cc.Model(lists, fast), "large": cc.Model(lists, slow)},
    ...     truth,
    ...     metrics=["RR@2"],
    ...     baseline="large",
    ...     primary=["latency_ms"],
    ...     higher_is_better={"latency_ms": False},
    ... )
    >>> comparison.difference("small", "large", "latency_ms").verdict
    'better'
    """

    lists: Data
    values: Any


def lists_of(model: Any) -> Any:
    """Return the lists of a model, with or without values."""
    return model.lists if isinstance(model, Model) else model
