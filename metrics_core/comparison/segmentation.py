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
    def needs(self) -> str:
        """The table that it reads."""
        return "train"

    @property
    def ends(self) -> Sequence[float]:
        """What has to rise."""
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
    def needs(self) -> str:
        """The table that it reads."""
        return "users"

    @property
    def ends(self) -> Sequence[float]:
        """What has to rise."""
        return self.edges or ()


@dataclass(frozen=True)
class ByPopularity:
    """Items by popularity in train: the head holds the first share of the interactions, head and middle the second."""

    by: Literal["truth_item", "recommended_item"]
    shares: tuple[float, float]
    compare_gaps: ClassVar[bool] = False  # of users only

    @property
    def needs(self) -> str:
        """The table that it reads."""
        return "train"

    @property
    def ends(self) -> Sequence[float]:
        """What has to rise."""
        return self.shares


MOST_COUNT = 10**12  # of rows, interactions and whatever else is counted
MOST_END = 1e30  # of a number in a column
WITHIN = (1e-12, 1 - 1e-12)  # a share is more than nothing and less than all
QUESTIONED = ("truth_item", "recommended_item")  # items, by popularity
Segmentation = ByActivity | ByColumn | ByPopularity


def segmentations_of(given: Any) -> dict[str, Segmentation]:
    """Segmentations as a dict says them: {"by": "activity", "edges": [0, 20]} and so on.

    Raises
    ------
    InputError : one that is none; all of them at once
    """
    if not isinstance(given, Mapping):
        raise refuse(
            "segments",
            f"{given!r} is no dict",
            "write {'activity': {'by': 'activity', 'edges': [0, 20]}}",
        )
    found, problems = {}, []
    for name, said in given.items():
        made = _segmentation(said)
        if isinstance(made, str):
            problems.append(Problem(f"segments.{name}", f"is {said!r}", made))
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
        if by == "activity" and keys == {"edges"} and _are(said["edges"], int, 0, MOST_COUNT):
            return ByActivity(tuple(said["edges"]), gaps)
        if by == "user" and isinstance(said.get("column"), str) and keys <= {"column", "edges"}:
            edges = said.get("edges")
            if edges is None or _are(edges, int | float, -MOST_END, MOST_END):
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


def segment_findings(
    segments: Mapping[str, Segmentation], given: Collection[str], settings: SettingNames
) -> Iterator[tuple[str, str, str]]:
    """(which entry, what is wrong, what to do): tables that were not given, ends that do not rise."""
    for name, segmentation in segments.items():
        if segmentation.needs not in given:
            what, fix = settings.missing_table(segmentation.needs)
            yield (
                f"segments.{name}",
                f"needs {segmentation.needs}, {what}",
                f"{fix}, or remove the entry",
            )
        ends = list(segmentation.ends)
        if any(low >= high for low, high in pairwise(ends)):
            yield f"segments.{name}", f"{ends} does not rise", "give each end once, smallest first"


def unknown_column(column: str, known: Sequence[str]) -> tuple[str, str]:
    """What is wrong with a column that users lack, and what to do."""
    near = difflib.get_close_matches(column, known, n=1)
    fix = f"name one of: {', '.join(known)}" if known else "add it: there is none but `user`"
    return f"users have no column {column!r}", f"did you mean {near[0]!r}?" if near else fix
