"""Facts of a bucket: counts, problems and sums, and how those of all buckets are merged."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from concord.metrics_core.errors import (
    AffectedRows,
    InputError,
    Problem,
    Refusal,
    ScoringError,
    merge_refusals,
)
from concord.metrics_core.evaluation.summary import Totals
from concord.metrics_core.stats.mean_interval import ValueSpread

OWN_METRICS = "#own"  # no table is called so
_ROW_MARK = re.compile("\x02([0-9]+)\x03")


@dataclass
class Facts:
    """Counts, problems and sums of one bucket.

    Attributes
    ----------
    problems : dict of str to list of Problem
        Problems of the first table that has any, by its name; of user-defined metrics under
        `OWN_METRICS`.
    rows : dict of str to int
        Number of rows of each table.
    refusal : Refusal or None
        Why the users were not scored.
    counts : dict of str to int
        Counts that can be added.
    totals : dict of str to Totals
        Totals of the mean of each column.
    highest : float or None
        Highest grade of the ground truth.
    grades : list of float
        Distinct grades, at most one more than are shown.
    lowest : list
        First user of the lists, and of the ground truth.
    unknown : list or None
        First user and item that the catalogue lacks.
    exposures : dict of str to int
        Number of users with a list, by label.
    lists : list of tuple
        Kinds of lists, each with its number; see `ListCounts`.
    issues : dict
        Pairs of rank (or k) and number, by field of `ListIssues`; None if not counted.
    overlap : tuple or None
        First five fields of `TrainOverlap`.
    lengths : dict
        Pairs of a number of rows and the number of users with so many, by table.
    order : str
        What orders the lists.
    rewritten : dict
        Ids that were read without `.0`, by table and column.
    """

    problems: dict[str, list[Problem]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    refusal: Refusal | None = None
    counts: dict[str, int] = field(default_factory=dict)
    totals: dict[str, Totals] = field(default_factory=dict)
    highest: float | None = None
    grades: list[float] = field(default_factory=list)
    lowest: list[Any] = field(default_factory=lambda: [None, None])
    unknown: list[Any] | None = None
    exposures: dict[str, int] = field(default_factory=dict)
    lists: list[tuple[int, bool, bool, int]] = field(default_factory=list)
    issues: dict[str, list[tuple[int, int]] | None] = field(default_factory=dict)
    overlap: tuple[int, int, int, int, bool] | None = None
    lengths: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    order: str = ""
    rewritten: dict[str, dict[str, Any]] = field(default_factory=dict)

    def as_json(self) -> str:
        """Return the facts as JSON; numbers keep all bits."""
        return json.dumps(asdict(self), default=_plain)

    @classmethod
    def from_json(cls, text: str) -> "Facts":
        """Return the facts that `as_json` wrote."""
        content = json.loads(text)
        problems = {
            name: [_problem(each) for each in items]
            for name, items in content.pop("problems").items()
        }
        refusal = content.pop("refusal")
        totals = {
            name: Totals(each["n_undefined"], tuple(each["sums"]), ValueSpread(**each["spread"]))
            for name, each in content.pop("totals").items()
        }
        return cls(problems, refusal=_refusal(refusal), totals=totals, **content)


def _plain(value: Any) -> Any:
    return value.item()  # a number of NumPy


def _problem(content: Mapping[str, Any]) -> Problem:
    location, affected_content = content["location"], content["affected"]
    where = location if isinstance(location, str) else tuple(location)
    if affected_content is None:
        return Problem(where, content["message"], content["fix"])
    rule, first = tuple(affected_content["rule"]), tuple(affected_content["first"])
    affected = AffectedRows(
        rule,
        first,
        affected_content["rows"],
        affected_content["users"],
        affected_content["message"],
    )
    return Problem(where, content["message"], content["fix"], affected)


def _refusal(content: Mapping[str, Any] | None) -> Refusal | None:
    if content is None:
        return None
    return Refusal(
        **{**content, "order": tuple(content["order"]), "grades": tuple(content["grades"])}
    )


def row_mark(origin: int) -> str:
    """Return the name of a row inside a bucket; names sort as the rows do."""
    return f"\x02{origin:019d}\x03"


def with_row_names(problem: Problem, words: Callable[[int], str]) -> Problem:
    """Return the problem with the names of its rows for the user."""
    return replace(
        problem, location=_ROW_MARK.sub(lambda match: words(int(match[1])), problem.where)
    )


def raise_refusals(facts: Sequence[Facts]) -> None:
    """Raise an error if users of any bucket were not scored.

    Raises
    ------
    InputError
        If a user-defined metric fails.
    ScoringError
        If the conventions refuse users.
    """
    if problems := [p for each in facts for p in each.problems.get(OWN_METRICS, [])]:
        raise InputError(merge_problems(problems))
    if refusals := [each.refusal for each in facts if each.refusal is not None]:
        raise ScoringError(merge_refusals(refusals))


def merge_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of a table, merged from those of its buckets."""
    every = list(problems)
    affecting = [(each.affected, each) for each in every if each.affected is not None]
    unread = [(a.first, each) for a, each in affecting if a.rule == (-1,)]
    if unread:  # the rest of the table was not checked
        return [each for _, each in sorted(unread, key=lambda row: row[0])]
    of_rule: dict[tuple[int, ...], list[tuple[AffectedRows, Problem]]] = {}
    for affected, each in affecting:
        of_rule.setdefault(affected.rule, []).append((affected, each))
    summed = [_merge_affected(of_rule[rule]) for rule in sorted(of_rule)]
    return [*summed, *dict.fromkeys(each for each in every if each.affected is None)]


def _merge_affected(affected_problems: Sequence[tuple[AffectedRows, Problem]]) -> Problem:
    affected, problem = min(affected_problems, key=lambda row: row[0].first)
    rows, users = (
        None if number is None else sum(getattr(each, name) for each, _ in affected_problems)
        for name, number in (("rows", affected.rows), ("users", affected.users))
    )
    whole = replace(affected, rows=rows, users=users)
    return replace(problem, message=whole.message_with_counts, affected=whole)


def sum_counts(facts: Sequence[Facts]) -> dict[str, int]:
    """Return the counts, summed over buckets."""
    names = {name for each in facts for name in each.counts}
    return {name: sum(each.counts.get(name, 0) for each in facts) for name in sorted(names)}


def sum_totals(facts: Sequence[Facts], name: str) -> Totals:
    """Return the totals of a column over all buckets."""
    first, *others = [each.totals[name] for each in facts if name in each.totals]
    n_undefined, spread = first.n_undefined, first.spread
    sums = [list(numbers) for numbers in first.sums]
    for other in others:
        n_undefined, spread = n_undefined + other.n_undefined, spread + other.spread
        for numbers, more in zip(sums, other.sums, strict=True):
            numbers.extend(more)
    return Totals(n_undefined, tuple(sums), spread)


def first_user(facts: Sequence[Facts], side: int) -> Any:
    """Return the first user of all lists (0), or of the ground truth (1)."""
    return min((each.lowest[side] for each in facts if each.lowest[side] is not None), default=None)


def highest_grade(facts: Sequence[Facts]) -> float | None:
    """Return the highest grade; None if there is none."""
    known = [each.highest for each in facts if each.highest is not None]
    return max(known, default=None)
