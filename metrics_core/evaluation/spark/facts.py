"""Facts about buckets: counts, problems and sums that a worker returns and the driver adds up."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from concord.metrics_core.errors import Problem
from concord.metrics_core.evaluation.diagnostics import ListCounts, TrainOverlap
from concord.metrics_core.evaluation.failures import Failure
from concord.metrics_core.evaluation.summary import Totals
from concord.metrics_core.metrics.exposure import Exposure

_ROW_MARK = re.compile("\x02([0-9]+)\x03")


@dataclass
class Facts:
    """Counts, problems and sums of one bucket, or of several.

    Attributes
    ----------
    problems : dict of str to list of Problem
        Problems of the first table of a bucket that has any, by its name.
    failures : list of Failure
        Why users were not scored.
    counts : dict of str to int
        Numbers of users and rows.
    lengths : dict of (str, int) to int
        Number of users with a number of rows in a table, by the table's name and this number.
    lists : ListCounts
        Counts of lists, without the fingerprint of their users.
    totals : dict of str to Totals
        Totals of the mean of each label.
    exposures : dict of str to Exposure
        Exposure of the items by label, without the items.
    overlap : dict of str to TrainOverlap
        Overlap of ground truth and `train`, if there is a train.
    rewritten : dict of (str, str) to int
        Number of ids that were read without `.0`, by table and column.
    examples : dict of (str, str) to str
        One of these ids.
    first : dict of str to value
        Smallest user of the lists and of the ground truth, smallest row with an unknown item,
        and what orders the lists.
    grades : set of float
        Distinct grades, at most one more than are shown in each bucket.
    highest : float
        Highest grade; -inf if there is none.
    """

    problems: dict[str, list[Problem]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    lengths: dict[tuple[str, int], int] = field(default_factory=dict)
    lists: ListCounts = field(default_factory=ListCounts)
    totals: dict[str, Totals] = field(default_factory=dict)
    exposures: dict[str, Exposure] = field(default_factory=dict)
    overlap: dict[str, TrainOverlap] = field(default_factory=dict)
    rewritten: dict[tuple[str, str], int] = field(default_factory=dict)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    first: dict[str, Any] = field(default_factory=dict)
    grades: set[float] = field(default_factory=set)
    highest: float = -math.inf

    def __add__(self, other: "Facts") -> "Facts":
        """Return the facts of both; other users."""
        lists = ListCounts()
        for each in (self, other):
            lists.add(each.lists)
        names = self.first | other.first
        smallest = {
            name: min(each.first[name] for each in (self, other) if name in each.first)
            for name in names
        }
        return Facts(
            _sum(self.problems, other.problems),
            self.failures + other.failures,
            _sum(self.counts, other.counts),
            _sum(self.lengths, other.lengths),
            lists,
            _sum(self.totals, other.totals),
            _sum(self.exposures, other.exposures),
            _sum(self.overlap, other.overlap),
            _sum(self.rewritten, other.rewritten),
            other.examples | self.examples,
            smallest,
            self.grades | other.grades,
            max(self.highest, other.highest),
        )

    def users_by_length(self, table: str) -> dict[int, int]:
        """Return the number of users by their number of rows in a table."""
        return {length: n for (name, length), n in self.lengths.items() if name == table}

    def rewritten_ids(self, table: str) -> dict[str, Any]:
        """Return `ids_rewritten` as in the description of a table; empty if there are none."""
        columns = {
            column: {"rows": rows, "example": self.examples[name, column]}
            for (name, column), rows in self.rewritten.items()
            if name == table
        }
        return {"ids_rewritten": columns} if columns else {}


def _sum(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> dict[Any, Any]:
    return {**a, **b, **{key: a[key] + b[key] for key in a.keys() & b.keys()}}


def exposures_with(exposures: Mapping[str, Exposure], items: Any) -> dict[str, Exposure]:
    """Return the exposures with these items; None while they are sent, as the driver has them."""
    return {label: replace(each, items=items) for label, each in exposures.items()}


def row_mark(origin: int) -> str:
    """Return the name of a row inside a bucket; names sort as the rows do."""
    return f"\x02{origin:019d}\x03"


def with_row_names(problem: Problem, words: Callable[[int], str]) -> Problem:
    """Return the problem with the names of its rows for the user."""
    location = _ROW_MARK.sub(lambda match: words(int(match[1])), problem.where)
    return replace(problem, location=location)
