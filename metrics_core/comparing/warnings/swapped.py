"""Lists and truth that look as if one was given in the place of the other."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.checking.relations import column
from concord.metrics_core.comparing.evidence.evaluated import Evaluated, Ground, Models
from concord.metrics_core.comparing.warnings.warned import FEWEST, warned
from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.scoring.user_columns import KNOWN, LISTED, RELEVANT

_SHORTEST = 5  # items of each user, before a truth looks like ranked lists


@dataclass(frozen=True)
class Lengths:
    """How many items users have in a table."""

    users: int
    shortest: float
    median: float
    longest: float

    @classmethod
    def of(cls, counts: pl.Series) -> "Lengths":
        """Summarise the numbers of items, one a user."""
        if counts.is_empty():
            return cls(0, 0, 0, 0)
        summary = (counts.min(), counts.median(), counts.max())
        return cls(len(counts), *(float(number) for number in summary))  # type: ignore[arg-type]

    @property
    def is_like_ranked_lists(self) -> bool:
        """True if all users have equally many items, and not few."""
        return self.users >= FEWEST and self.shortest == self.longest >= _SHORTEST

    def is_like_truth(self, length: float) -> bool:
        """True if most lists have at most half of so many items, and either all have one or lengths differ."""
        varies = self.longest == 1 or self.shortest < self.longest
        return varies and 2 * self.median <= length


def swapped_tables(models: Models, ground: Ground) -> Iterator[Warned]:
    """Return the warning on models whose lists look like a truth, where the truth looks like lists."""
    found: dict[str, Lengths] = {}
    for model, evaluated in models.items():
        for lists in evaluated.each:
            if lists.quality["has_scores"] or not _is_ungraded(lists, ground):
                continue
            fold = lists.quality.get("fold", "")
            if fold not in found:
                users = column(ground.truth_of(lists), "user")
                found[fold] = Lengths.of(users.value_counts()["count"])
            lengths = Lengths(0, *(lists.quality["list_length"][n] for n in ("min", "median", "max")))  # fmt: skip
            if found[fold].is_like_ranked_lists and lengths.is_like_truth(found[fold].longest):
                yield swapped(found[fold], lengths, [model])
                return


def swapped_arguments(
    values: pl.DataFrame, grades: Collection[float], *, has_scores: bool
) -> Iterator[Warned]:
    """Return the warning on one evaluation.

    values : a row a user, with the columns KNOWN, LISTED and RELEVANT
    grades : the different grades of the truth
    """
    if has_scores or list(grades) != [1.0]:
        return
    truth = Lengths.of(values.filter(pl.col(KNOWN))[RELEVANT])
    lists = Lengths.of(values.filter(pl.col(LISTED) > 0)[LISTED])
    if truth.is_like_ranked_lists and lists.is_like_truth(truth.longest):
        yield swapped(truth, lists, ["recs"])


def swapped(truth: Lengths, lists: Lengths, who: Sequence[str]) -> Warned:
    """Return the warning on a truth of equally many items a user, and such lists."""
    spread = f"{lists.shortest:g} to {lists.longest:g} items"
    held = "one item each" if lists.longest == 1 else f"{spread}, most of them {lists.median:g} or fewer"  # fmt: skip
    return warned(
        "swapped_tables",
        "serious",
        who,
        f"Every user has {in_words(int(truth.longest), 'item')} in the truth, without grades, and the lists have {held}, "
        "without scores: the truth looks like ranked lists, and the lists look like a truth.",
        "check that lists and truth were not given in each other's place",
    )


def _is_ungraded(lists: Evaluated, ground: Ground) -> bool:
    folds = ground.truth_quality.get("folds")
    quality = folds[lists.quality["fold"]] if folds else ground.truth_quality
    return list(quality["grades"] or ()) == ["1"]
