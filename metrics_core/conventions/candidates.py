"""Candidates: which items the lists rank beside the relevant one, where these are a sample of the catalogue."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

UNIFORM = "uniform"  # each user's negatives are different items, all sets of them equally likely
SENTENCE = (
    "How the items were drawn that are ranked beside the relevant one: values are corrected for it."
)
MOST_NEGATIVES = 2_000
MOST_ITEMS = 10_000_000
FORM = f"{{negatives: 100, catalogue: 26744, sampling: {UNIFORM}}}"


class Candidates(NamedTuple):
    """How the candidates of each user were drawn.

    negatives : how many items are ranked beside the relevant one
    catalogue : how many items a full ranking holds: the relevant one, and all that negatives are drawn from
    """

    negatives: int
    catalogue: int

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Self:
        """From the convention `candidates`."""
        return cls(value["negatives"], value["catalogue"])

    @property
    def others(self) -> int:
        """The items that negatives are drawn from."""
        return self.catalogue - 1


def wrong_candidates(value: Any) -> list[tuple[str, str, str]]:
    """What is wrong with the convention, as (key, what, fix)."""
    if value is None:
        return []
    names = {"negatives", "catalogue", "sampling"}
    if not isinstance(value, Mapping) or set(value) != names:
        return [("candidates", f"is {str(value)[:80]!r}", f"write {FORM}, or leave it out")]
    problems = []
    if value["sampling"] != UNIFORM:
        fix = (
            f"write {UNIFORM}: draws in which items differ in their chance have no correction here"
        )
        problems.append(("candidates.sampling", f"is {value['sampling']!r}", fix))
    for name, least, most in (("negatives", 1, MOST_NEGATIVES), ("catalogue", 2, MOST_ITEMS)):
        if type(value[name]) is not int or not least <= value[name] <= most:
            fix = f"write a whole number from {least} to {most:,}"
            problems.append((f"candidates.{name}", f"is {value[name]!r}", fix))
    if not problems and value["negatives"] >= value["catalogue"]:
        what = f"{value['negatives']:,} are not less than the {value['catalogue']:,} items of the catalogue"
        problems.append(("candidates.negatives", what, "name how many items were ranked in all"))
    return problems
