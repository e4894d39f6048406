"""What inverse propensities do to an evaluation: on how many relevant rows it rests, and how much on the heaviest."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.metrics.judged import Floats, Judged, per_user
from concord.metrics_core.scoring.fingerprints import users_fingerprint
from concord.metrics_core.scoring.numerics.exact import exact_parts
from concord.metrics_core.scoring.user_columns import KNOWN, LISTED, RELEVANT

# Columns of a partition's values: of a user's relevant rows the sum of their weights, that of the squares, the
# largest, and how many count as the clip.
COLUMNS = ("#weight", "#weight_squared", "#weight_largest", "#weight_clipped")


def weight_columns(lists: Judged, clip: float) -> dict[str, Floats]:
    """The columns of the users of `lists`, which hold the relevant rows only."""
    assert lists.weights is not None
    weight = lists.weights[1]
    largest = np.zeros(lists.n_users)
    np.maximum.at(largest, lists.truth_user, weight)

    def added(values: Floats) -> Floats:
        return per_user(lists.truth_user, values, lists.n_users)

    clipped = np.where(weight >= 1.0 / clip, 1.0, 0.0)
    found = (added(weight), added(weight * weight), largest, added(clipped))
    return dict(zip(COLUMNS, found, strict=True))


@dataclass
class Weighing:
    """The weights of all relevant rows; partitions add up to the same bits."""

    rows: int = 0
    clipped: int = 0
    heaviest: float = 0.0
    weights: list[float] = field(default_factory=list)  # numbers that add up to the exact sum
    squares: list[float] = field(default_factory=list)
    unobserved: int = 0  # users with a list, of whom no relevant row was observed
    only_in_lists: int = 0  # a fingerprint of the users with a list whom the truth does not know

    def add(self, values: pl.DataFrame) -> None:
        """Count the users of a partition in."""
        weight, squared, largest, clipped = (values[name].to_numpy() for name in COLUMNS)
        self.rows += int(values[RELEVANT].sum())
        listed = values.filter(pl.col(LISTED) > 0)
        self.unobserved += listed.filter(pl.col(RELEVANT) == 0).height
        self.only_in_lists ^= users_fingerprint(listed.filter(~pl.col(KNOWN)).select("user"))
        self.clipped += int(clipped.sum())
        self.heaviest = max(self.heaviest, float(largest.max(initial=0.0)))
        self.weights += exact_parts(weight)
        self.squares += exact_parts(squared)

    @property
    def effective(self) -> float:
        """(sum of the weights)^2 / sum of their squares: so many rows of equal weight would vary as much (Kish 1965)."""
        squares = math.fsum(self.squares)
        return math.fsum(self.weights) ** 2 / squares if squares else 0.0

    @property
    def content(self) -> dict[str, Any]:
        """As the summary of an evaluation has it; `largest` is the share of the heaviest row in all weights.

        unobserved : users with a list and no relevant row; `only_in_lists`: a fingerprint of those with no row at all
        """
        total = math.fsum(self.weights)
        return {
            "rows": self.rows,
            "effective": self.effective,
            "largest": self.heaviest / total if total else None,
            "clipped": self.clipped,
            "unobserved": self.unobserved,
            "only_in_lists": f"{self.only_in_lists:016x}",
        }

    def refuse_few(self, propensity: Mapping[str, Any]) -> None:
        """Refuse an evaluation that rests on too few rows.

        Raises
        ------
        ValueError : the effective number of rows lies below the convention's `fewest`
        """
        if self.effective < propensity["fewest"]:
            rows = in_words(self.rows, "relevant row")
            msg = (
                f"propensity: {rows} with these weights are worth {self.effective:.1f} of equal weight, and `fewest` asks "
                f"for {propensity['fewest']:g}; raise `clip`, lower the exponent, or give more data"
            )
            raise ValueError(msg)
