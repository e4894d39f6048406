"""What a bucket tells beside the values of its users, as JSON; facts of buckets add up to those of all users."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from concord.metrics_core.checking.problems import Affected, InputError, Problem
from concord.metrics_core.checking.refused import Refusal, ScoringError, first_of
from concord.metrics_core.scoring.numerics.mean_interval import Spread
from concord.metrics_core.scoring.summary import Totals

OWN_METRICS = "#own"  # no table is called so
_MARK = re.compile("\x02([0-9]+)\x03")


@dataclass
class Facts:
    """Of one bucket.

    problems  : of the first table that has any, by its name; of own metrics under `OWN_METRICS`
    rows      : table -> its rows; `left`: the rows of the truth that its policies leave
    refusal   : why the users were not scored
    counts    : whole numbers that add up
    totals    : column -> what its mean is made of
    highest   : grade of the truth; `grades`: different ones, as many as are shown and one more
    lowest    : the first user of the lists, and of the truth
    unknown   : the first (user, item) that the catalogue lacks
    exposures : label -> users with a list
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

    def as_json(self) -> str:
        """As it travels; numbers keep every bit."""
        return json.dumps(asdict(self), default=_plain)

    @classmethod
    def of_json(cls, text: str) -> "Facts":
        """What `as_json` wrote."""
        held = json.loads(text)
        problems = {
            name: [_problem(each) for each in found] for name, found in held.pop("problems").items()
        }
        refusal = held.pop("refusal")
        totals = {
            name: Totals(each["n_undefined"], tuple(each["sums"]), Spread(**each["spread"]))
            for name, each in held.pop("totals").items()
        }
        return cls(problems, refusal=_refusal(refusal), totals=totals, **held)


def _plain(value: Any) -> Any:
    return value.item()  # a number of NumPy


def _problem(held: Mapping[str, Any]) -> Problem:
    told = held["affected"]
    if told is None:
        return Problem(held["where"], held["what"], held["fix"])
    rule, first = tuple(told["rule"]), tuple(told["first"])
    affected = Affected(rule, first, told["rows"], told["users"], told["said"])
    return Problem(held["where"], held["what"], held["fix"], affected)


def _refusal(held: Mapping[str, Any] | None) -> Refusal | None:
    if held is None:
        return None
    return Refusal(**{**held, "at": tuple(held["at"]), "grades": tuple(held["grades"])})


def mark(origin: int) -> str:
    """A row in the words of a bucket: such texts sort as the rows do."""
    return f"\x02{origin:019d}\x03"


def unmarked(problem: Problem, words: Callable[[int], str]) -> Problem:
    """The problem with its rows as messages name them."""
    return replace(problem, where=_MARK.sub(lambda found: words(int(found[1])), problem.where))


def raise_refusals(facts: Sequence[Facts]) -> None:
    """Raise an error if users of any bucket were not scored.

    Raises
    ------
    InputError   : an own metric is wrong
    ScoringError : the conventions refuse users
    """
    if problems := [p for each in facts for p in each.problems.get(OWN_METRICS, [])]:
        raise InputError(merged(problems))
    if refusals := [each.refusal for each in facts if each.refusal is not None]:
        raise ScoringError(first_of(refusals))


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """The problems of a table, from those of its buckets."""
    found = list(problems)
    told = [(each.affected, each) for each in found if each.affected is not None]
    unread = [(a.first, each) for a, each in told if a.rule == (-1,)]
    if unread:  # then nothing else of the table is judged
        return [each for _, each in sorted(unread, key=lambda of: of[0])]
    of_rule: dict[tuple[int, ...], list[tuple[Affected, Problem]]] = {}
    for affected, each in told:
        of_rule.setdefault(affected.rule, []).append((affected, each))
    summed = [_summed(of_rule[rule]) for rule in sorted(of_rule)]
    return [*summed, *dict.fromkeys(each for each in found if each.affected is None)]


def _summed(found: Sequence[tuple[Affected, Problem]]) -> Problem:
    affected, problem = min(found, key=lambda of: of[0].first)
    rows, users = (
        None if number is None else sum(getattr(each, name) for each, _ in found)
        for name, number in (("rows", affected.rows), ("users", affected.users))
    )
    whole = replace(affected, rows=rows, users=users)
    return replace(problem, what=whole.what, affected=whole)


def added(facts: Sequence[Facts]) -> dict[str, int]:
    """The counts of all buckets."""
    names = {name for each in facts for name in each.counts}
    return {name: sum(each.counts.get(name, 0) for each in facts) for name in sorted(names)}


def totals_added(facts: Sequence[Facts], name: str) -> Totals:
    """The totals of a column over all buckets."""
    first, *others = [each.totals[name] for each in facts if name in each.totals]
    n_undefined, spread = first.n_undefined, first.spread
    sums = [list(numbers) for numbers in first.sums]
    for other in others:
        n_undefined, spread = n_undefined + other.n_undefined, spread + other.spread
        for numbers, more in zip(sums, other.sums, strict=True):
            numbers.extend(more)
    return Totals(n_undefined, tuple(sums), spread)


def lowest(facts: Sequence[Facts], place: int) -> Any:
    """The first user of all lists (0), or of the truth (1)."""
    return min(
        (each.lowest[place] for each in facts if each.lowest[place] is not None), default=None
    )


def highest(facts: Sequence[Facts]) -> float | None:
    """The highest grade."""
    known = [each.highest for each in facts if each.highest is not None]
    return max(known, default=None)
