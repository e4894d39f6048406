"""The summary of one metric: mean, confidence interval and number of users."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Summary:
    """Mean of a metric with its t interval; NaN where undefined.

    Attributes
    ----------
    mean, ci_low, ci_high : float
        Mean and confidence interval.
    n_users : int
        Number of users of the mean.
    n_undefined : int
        Number of users, or requests, whose value is 0/0.
    n_requests : int or None
        Number of requests of the mean; None if the unit is a user.
    """

    mean: float
    ci_low: float
    ci_high: float
    n_users: int
    n_undefined: int
    n_requests: int | None = None

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Any]) -> "Summary":
        """Return the summary of its numbers, as in a model's file."""
        values: dict[str, Any] = {
            name: math.nan if each is None else each for name, each in numbers.items()
        }
        return cls(**values)

    @property
    def numbers(self) -> dict[str, Any]:
        """The fields by name, without the number of requests if the unit is a user."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "n_requests" or self.n_requests is not None
        }
