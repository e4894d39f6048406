"""How users or items are cut into groups."""

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

from concord.metrics_core.errors import InputError, Problem, SettingNames, refuse


@dataclass(frozen=True)
class ByActivity:
    """Users by their interactions in train; `edges` are the upper ends of the groups.

    compare_gaps : are the gaps between groups tested, each model's against the baseline's?
    """

    edges: tuple[int, ...]
    compare_gaps: bool = False

    @property
    def table(self) -> str:
        """Name of the table that it reads."""
        return "train"

    @property
    def ends(self) -> Sequence[float]:
        """Numbers that must increase."""
        return self.edges


@dataclass(frozen=True)
class ByColumn:
    """Users by a column of the users' table; with `edges` it is a number, cut there.

    compare_gaps : as in `ByActivity`
    """

    column: str
    edges: tuple[float, ...] | None = None
    compare_gaps: bool = False

    @property
    def table(self) -> str:
        """Name of the table that it reads."""
        return "users"

    @property
    def ends(self) -> Sequence[float]:
        """Numbers that must increase."""
        return self.edges or ()


@dataclass(frozen=True)
class ByPopularity:
    """Items by popularity in train: the head holds the first share of the interactions, head and middle the second."""

    by: Literal["truth_item", "recommended_item"]
    shares: tuple[float, float]
    compare_gaps: ClassVar[bool] = False  # of users only

    @property
    def table(self) -> str:
        """Name of the table that it reads."""
        return "train"

    @property
    def ends(self) -> Sequence[float]:
        """Numbers that must increase."""
        return self.shares


MAX_COUNT = 10**12  # of rows and interactions
MAX_END = 1e30  # of a number in a column
WITHIN = (1e-12, 1 - 1e-12)  # a share is more than nothing and less than all
QUESTIONED = ("truth_item", "recommended_item")  # items, by popularity
Segmentation = ByActivity | ByColumn | ByPopularity


def segmentations_of(given: Any) -> dict[str, Segmentation]:
    """Return the segmentations that dicts describe, such as {"by": "activity", "edges": [0, 20]}.

    Raises
    ------
    InputError
        A segmentation is invalid; all problems at once.
    """
    if not isinstance(given, Mapping):
        fix = "write a dict such as {'activity': {'by': 'activity', 'edges': [0, 20]}}"
        raise refuse("segments", f"is {given!r}", fix)
    found, problems = {}, []
    for name, said in given.items():
        made = _segmentation(said)
        if isinstance(made, str):
            problems.append(Problem(("segments", name), f"is {said!r}", made))
        else:
            found[str(name)] = made
    if problems:
        raise InputError(problems)
    return found


def _segmentation(said: Any) -> Segmentation | str:
    """The segmentation, or what to write."""
    by = said.get("by") if isinstance(said, Mapping) else None
    by = by if isinstance(by, str) else ""
    keys = set(said) - {"by"} if by in _WRITE else set()
    if by in {"activity", "user"} and isinstance(gaps := said.get("compare_gaps", False), bool):
        keys -= {"compare_gaps"}
        if by == "activity" and keys == {"edges"} and _are(said["edges"], int, 0, MAX_COUNT):
            return ByActivity(tuple(said["edges"]), gaps)
        if by == "user" and isinstance(said.get("column"), str) and keys <= {"column", "edges"}:
            edges = said.get("edges")
            if edges is None or _are(edges, int | float, -MAX_END, MAX_END):
                ends = None if edges is None else tuple(map(float, edges))
                return ByColumn(said["column"], ends, gaps)
    if by in QUESTIONED and keys == {"shares"} and _are(said["shares"], float, *WITHIN):
        shares = tuple(said["shares"])
        if len(shares) == 2:  # noqa: PLR2004 - the head, and head and middle
            return ByPopularity(by, shares)  # type: ignore[arg-type]
    return f"write {_WRITE.get(by, ' or '.join(_WRITE.values()))}"


def _are(values: Any, kind: Any, least: float, most: float) -> bool:
    """Is it a list of numbers in their range?"""
    known = isinstance(values, Sequence) and not isinstance(values, str) and len(values) > 0
    return known and all(
        isinstance(value, kind) and not isinstance(value, bool) and least <= value <= most
        for value in values
    )


_WRITE = {
    "activity": "{'by': 'activity', 'edges': [0, 20]}",
    "user": "{'by': 'user', 'column': 'country'}",
    "truth_item": "{'by': 'truth_item', 'shares': [0.5, 0.8]}",
    "recommended_item": "{'by': 'recommended_item', 'shares': [0.5, 0.8]}",
}


def segment_problems(
    segments: Mapping[str, Segmentation], tables: Collection[str], settings: SettingNames
) -> Iterator[Problem]:
    """Yield segmentations of tables that are missing, and ends of groups that do not increase."""
    for name, segmentation in segments.items():
        location = ("segments", name)
        if segmentation.table not in tables:
            missing, fix = settings.missing_table(segmentation.table)
            what = f"needs {segmentation.table}, {missing}"
            yield Problem(location, what, f"{fix}, or remove the entry")
        ends = list(segmentation.ends)
        if any(low >= high for low, high in pairwise(ends)):
            what = f"{ends} is not in increasing order"
            yield Problem(location, what, "write each end once, smallest first")


def unknown_column(column: str, known: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong with a column that users lack, and what to do."""
    near = difflib.get_close_matches(column, known, n=1)
    fix = f"name one of: {', '.join(known)}" if known else "add it: `user` is the only column"
    return f"users have no column {column!r}", f"did you mean {near[0]!r}?" if near else fix
