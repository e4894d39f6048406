"""What a segmentation makes of the users: groups in their natural order, and values of every model in each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.scoring.numerics.clusters import Clusters
from concord.metrics_core.statistics.paired import Column


@dataclass(frozen=True)
class Grouped:
    """One label in the groups of one segmentation.

    text   : the label as it is shown; `label` is None where the values have no better or worse
    values : group -> model -> (users,) values, NaN where a user does not count in that group
    whose  : whose requests they are, where they are values of requests
    bounds : lowest and highest value of the metric
    """

    text: str
    label: Label | None
    values: Mapping[str, Mapping[str, Floats]]
    whose: Clusters | None = None
    bounds: Bounds = UNBOUNDED

    def column(self, segment: str, model: str) -> Column:
        """The values of a model in a group."""
        return Column(self.values[segment][model], self.whose, self.bounds)


def up_to(edges: Sequence[int]) -> list[str]:
    """Names of the groups that these upper ends make of whole numbers: `0`, `1 to 20`, `over 20`."""
    names = []
    for low, high in zip([None, *edges[:-1]], edges, strict=True):
        first = 0 if low is None else low + 1
        names.append(f"{high}" if first == high else f"{first} to {high}")
    return [*names, f"over {edges[-1]}"]


def split(
    values: Mapping[str, Floats], groups: Sequence[str], of_user: NDArray[np.int64]
) -> dict[str, dict[str, Floats]]:
    """The users' values group by group; `of_user` numbers the group of each user, -1 for none."""
    return {
        group: {
            model: np.where(of_user == number, column, np.nan) for model, column in values.items()
        }
        for number, group in enumerate(groups)
    }
