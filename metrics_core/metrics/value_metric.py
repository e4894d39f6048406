"""Metrics whose values another tool computed."""

import math
import re
from typing import Any

from concord.metrics_core.conventions.convention import is_number
from concord.metrics_core.metrics.catalogue import find_metric
from concord.metrics_core.metrics.custom_metric import find_own_metric
from concord.metrics_core.metrics.label import Label, metric_name
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds, Metric
from concord.metrics_core.results.comparison_parts import OF_VALUES

_CUTOFF = re.compile(r"(?P<stem>.+)@(?P<k>[1-9][0-9]{0,5}|1000000)", re.DOTALL)  # up to MAX_K
# Problems of values next to lists, with their fixes.
OF_USERS = ("values next to lists are of users, not of requests", "leave it out, or the values")
NAME_OF_LISTS = ("is the name of a metric of lists", "give it another name, without a cutoff")


def values_as_given() -> None:
    """As given: the tool that computed the values defines the metric."""


def value_label(name: str, *, higher_is_better: bool, bounds: Bounds = UNBOUNDED) -> Label:
    """Return the label of a metric of another tool; `@10` at the end of its name is a cutoff."""
    match = _CUTOFF.fullmatch(name)
    k = int(match["k"]) if match else None
    low, high = bounds
    metric = Metric(
        match["stem"] if match else name,
        values_as_given,
        "another tool",
        low=float(low),
        high=float(high),
        family=OF_VALUES,
        higher_is_better=higher_is_better,
    )
    return Label(metric, k, ())


def is_name_of_lists(name: str) -> bool:
    """True if a label of the name would be that of a metric of lists, or has a cutoff."""
    return "@" in name or any(find(metric_name(name)) for find in (find_metric, find_own_metric))


def are_bounds(value: Any) -> bool:
    """True for the lowest and the highest value of a metric."""
    if not isinstance(value, tuple | list) or len(value) != 2:  # noqa: PLR2004 - two ends
        return False
    are_numbers = all(is_number(end) or end in {-math.inf, math.inf} for end in value)
    return are_numbers and value[0] < value[1]
