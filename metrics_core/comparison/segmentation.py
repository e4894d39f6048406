"""How users or items are cut into groups."""

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

from concord.metrics_core.errors import Problem, SettingNames, raise_problems, refuse


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
        segmentation = _segmentation(value)
        if segmentation is None:
            by = value.get("by") if isinstance(value, Mapping) else None
            fix = f"write {_EXAMPLES.get(str(by), ' or '.join(_EXAMPLES.values()))}"
            problems.append(Problem(("segments", name), f"is {value!r}", fix))
        else:
            segments[str(name)] = segmentation
    raise_problems(problems)
    return segments


def _segmentation(value: Any) -> Segmentation | None:
    """Return the segmentation that a dict describes; None if it is invalid."""
    by = value.get("by") if isinstance(value, Mapping) else None
    if not isinstance(by, str) or by not in _EXAMPLES:
        return None
    keys = set(value) - {"by"}
    if by in {"activity", "user"} and isinstance(gaps := value.get("compare_gaps", False), bool):
        keys -= {"compare_gaps"}
        if by == "activity" and keys == {"edges"} and _are(value["edges"], int, 0, MAX_COUNT):
            return ByActivity(tuple(value["edges"]), gaps)
        if by == "user" and isinstance(value.get("column"), str) and keys <= {"column", "edges"}:
            edges = value.get("edges")
            if edges is None or _are(edges, int | float, -MAX_END, MAX_END):
                ends = None if edges is None else tuple(map(float, edges))
                return ByColumn(value["column"], ends, gaps)
    if by.endswith("_item") and keys == {"shares"} and _are(value["shares"], float, *SHARE_RANGE):
        shares = tuple(value["shares"])
        if len(shares) == 2:  # noqa: PLR2004 - the head, and head and middle
            return ByPopularity(by, shares)  # type: ignore[arg-type]
    return None


def _are(values: Any, kind: Any, least: float, most: float) -> bool:
    """True for a list of numbers from `least` to `most`."""
    is_list = isinstance(values, Sequence) and not isinstance(values, str) and len(values) > 0
    return is_list and all(
        isinstance(value, kind) and not isinstance(value, bool) and least <= value <= most
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
    """Yield segmentations of tables that are missing, and ends of groups that do not increase."""
    for name, segmentation in segments.items():
        location = ("segments", name)
        if segmentation.table not in tables:
            missing, fix = settings.missing_table(segmentation.table)
            problem = f"needs {segmentation.table}, {missing}"
            yield Problem(location, problem, f"{fix}, or remove the entry")
        ends = list(segmentation.ends)
        if any(low >= high for low, high in pairwise(ends)):
            problem = f"{ends} is not in increasing order"
            yield Problem(location, problem, "write each end once, smallest first")


def unknown_column(column: str, known: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong with a column that users lack, and what to do."""
    near = difflib.get_close_matches(column, known, n=1)
    fix = f"name one of: {', '.join(known)}" if known else "add it: `user` is the only column"
    return f"users have no column {column!r}", f"did you mean {near[0]!r}?" if near else fix
