"""Users' values of two lists, and whom the choice between them concerns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.judged import Bools, Floats, Ints


@dataclass(frozen=True)
class Values:
    """(users,) values of each label with a and with b, NaN where undefined; users are sorted by the first label."""

    users: pl.Series
    labels: Sequence[Label]
    conventions: Conventions
    of_both: Mapping[str, tuple[Floats, Floats]]

    @cached_property
    def differences(self) -> Floats:
        """(users,) a minus b."""
        of_a, of_b = self.of_both[str(self.labels[0])]
        return of_a - of_b

    @cached_property
    def gaps(self) -> Floats:
        """(users,) below 0 where a is behind."""
        return self.differences if self.labels[0].metric.higher_is_better else -self.differences

    def furthest_behind(self, pool: Bools, most: int) -> Ints:
        """Return the numbers of a pool's users, those first where a is furthest behind; equal ones by id."""
        return self._sorted(pool, most, descending=False)

    def furthest_ahead(self, pool: Bools, most: int) -> Ints:
        """Return the numbers of a pool's users, those first where a is furthest ahead; equal ones by id."""
        return self._sorted(pool, most, descending=True)

    def _sorted(self, pool: Bools, most: int, *, descending: bool) -> Ints:
        numbers = np.flatnonzero(pool)
        users = self.users.gather(numbers).cast(pl.String)
        frame = pl.DataFrame({"gap": self.gaps[numbers], "user": users, "number": numbers})
        ordered = frame.sort("gap", "user", descending=[descending, False])
        return ordered.head(most)["number"].to_numpy()

    def least(self, label: Label) -> float | None:
        """The lowest grade that is relevant; None where any is, or the metric asks for no relevance."""
        asks = label.metric.asks_relevance
        return label.conventions(self.conventions).relevance_threshold if asks else None

    def reaches(self, grade: float, label: Label) -> bool:
        """Does the metric count the grade as relevant?"""
        least = self.least(label)
        return least is None or grade >= least


def values_of(evidence: Evidence) -> Values:
    """The values on the primary labels, of the two models of the evidence."""
    asked, aligned = evidence.asked, evidence.aligned
    a, b = evidence.models
    found = {}
    for label in asked.of_primary:
        undefined = label.conventions(asked.conventions).undefined
        of_each = aligned.values(str(label), "zero" if undefined == "zero" else "skip")
        found[str(label)] = (of_each[a], of_each[b])
    return Values(aligned.users, asked.of_primary, asked.conventions, found)
