"""Segmentations: definitions of groups of users or items."""

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

from concord.metrics_core.errors import Problem, SettingNames, raise_problems, refuse


@dataclass(frozen=True)
class ByActivity:
    """Users by their number of interactions in train.

    Attributes
    ----------
    edges : tuple of int
        Upper ends of the groups.
    compare_gaps : bool
        True to test each model's gap between groups against that of the baseline.
    """

    edges: tuple[int, ...]
    compare_gaps: bool = False
    table: ClassVar[str] = "train"  # that it reads


@dataclass(frozen=True)
class ByColumn:
    """Users by a column of the users' table.

    Attributes
    ----------
    edges : tuple of float or None
        Upper ends of the groups of a number; None for one group per value.
    compare_gaps : bool
        As in `ByActivity`.
    """

    column: str
    edges: tuple[float, ...] | None = None
    compare_gaps: bool = False
    table: ClassVar[str] = "users"


@dataclass(frozen=True)
class ByPopularity:
    """Items by popularity in train.

    Attributes
    ----------
    shares : (float, float)
        Shares of the interactions with items of the head, and of head and middle together.
    """

    by: Literal["truth_item", "recommended_item"]
    shares: tuple[float, float]
    compare_gaps: ClassVar[bool] = False  # only gaps between groups of users can be compared
    table: ClassVar[str] = "train"


MAX_COUNT = 10**12  # interactions of a user
MAX_END = 1e30  # value of a column
SHARE_RANGE = (1e-12, 1 - 1e-12)
Segmentation = ByActivity | ByColumn | ByPopularity


def parse_segments(descriptions: Any) -> dict[str, Segmentation]:
    """Return the segmentations that dicts describe, such as {"by": "activity", "edges": [0, 20]}.

    Raises
    ------
    InputError
        A segmentation is invalid; all problems at once.
    """
    if not isinstance(descriptions, Mapping):
        fix = "write a dict such as {'activity': {'by': 'activity', 'edges': [0, 20]}}"
        raise refuse("segments", f"is {descriptions!r}", fix)
    segments, problems = {}, []
    for name, value in descriptions.items():
        segmentation = _parse_segmentation(value)
        if segmentation is None:
            by = value.get("by") if isinstance(value, Mapping) else None
            fix = f"write {_EXAMPLES.get(str(by), ' or '.join(_EXAMPLES.values()))}"
            problems.append(Problem(("segments", name), f"is {value!r}", fix))
        else:
            segments[str(name)] = segmentation
    raise_problems(problems)
    return segments


def _parse_segmentation(value: Any) -> Segmentation | None:
    """Return the segmentation that a dict describes; None if it is invalid."""
    by = value.get("by") if isinstance(value, Mapping) else None
    if not isinstance(by, str) or by not in _EXAMPLES:
        return None
    keys = set(value) - {"by"}
    if by in {"activity", "user"} and isinstance(gaps := value.get("compare_gaps", False), bool):
        keys -= {"compare_gaps"}
        if (
            by == "activity"
            and keys == {"edges"}
            and _are_numbers(value["edges"], int, 0, MAX_COUNT)
        ):
            return ByActivity(tuple(value["edges"]), gaps)
        if by == "user" and isinstance(value.get("column"), str) and keys <= {"column", "edges"}:
            edges = value.get("edges")
            if edges is None or _are_numbers(edges, int | float, -MAX_END, MAX_END):
                ends = None if edges is None else tuple(map(float, edges))
                return ByColumn(value["column"], ends, gaps)
    if by.endswith("_item") and keys == {"shares"}:
        shares = value["shares"]
        if _are_numbers(shares, float, *SHARE_RANGE) and len(shares) == 2:  # noqa: PLR2004
            return ByPopularity(by, tuple(shares))  # type: ignore[arg-type]
    return None


def _are_numbers(values: Any, kind: Any, low: float, high: float) -> bool:
    """True for a list of numbers from `low` to `high`."""
    is_list = isinstance(values, Sequence) and not isinstance(values, str) and len(values) > 0
    return is_list and all(
        isinstance(value, kind) and not isinstance(value, bool) and low <= value <= high
        for value in values
    )


_EXAMPLES = {
    "activity": "{'by': 'activity', 'edges': [0, 20]}",
    "user": "{'by': 'user', 'column': 'country'}",
    "truth_item": "{'by': 'truth_item', 'shares': [0.5, 0.8]}",
    "recommended_item": "{'by': 'recommended_item', 'shares': [0.5, 0.8]}",
}


def segment_problems(
    segments: Mapping[str, Segmentation], tables: Collection[str], settings: SettingNames
) -> Iterator[Problem]:
    """Yield segmentations whose table is missing, and ends of groups that do not increase."""
    for name, segmentation in segments.items():
        location = ("segments", name)
        if segmentation.table not in tables:
            problem = f"needs {segmentation.table}, which is missing"
            table = settings.name("background", segmentation.table)
            yield Problem(location, problem, f"give {table}, or remove the entry")
        if isinstance(segmentation, ByPopularity):
            ends = list(segmentation.shares)
        else:
            ends = list(segmentation.edges or ())
        if any(low >= high for low, high in pairwise(ends)):
            problem = f"{ends} is not in increasing order"
            yield Problem(location, problem, "write each end once, smallest first")


def unknown_column_problem(column: str, known: Sequence[str]) -> tuple[str, str]:
    """Return the problem and the fix for a column that the users' table lacks."""
    near = difflib.get_close_matches(column, known, n=1)
    fix = f"name one of: {', '.join(known)}" if known else "add it: `user` is the only column"
    return f"users have no column {column!r}", f"did you mean {near[0]!r}?" if near else fix
