"""Warnings about ground truth and train: grades, swapped tables, leaks."""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import SettingNames, in_words
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.diagnostics import TrainOverlap
from concord.metrics_core.evaluation.grade_fit import threshold_problems
from concord.metrics_core.evaluation.model_result import (
    EvaluationData,
    ModelResult,
    Models,
)
from concord.metrics_core.evaluation.warnings.base import FEWEST, severity_of_rows, warned
from concord.metrics_core.results.comparison_parts import Warned
from concord.metrics_core.results.words import percent

SCALE = 4  # so many different grades look like stars, whose lowest say that a user did not like the item
HIGHEST_STARS = (4, 10)  # of scales of ratings
LIKED = 0.8  # of the highest rating: from there on a user liked the item
_LOWEST = 0.2  # of the highest rating: such a threshold leaves out next to nothing


def grade_warnings(grades: Collection[float], conventions: Conventions) -> Iterator[Warned]:
    """On a scale of which every grade, or nearly every grade, counts as relevant.

    grades : the different grades of the truth; empty where they are too many to be a scale
    """
    least = conventions.relevance_threshold
    if len(grades) < SCALE:
        return
    if least is not None and min(grades) >= least:
        yield warned(
            "all_relevant",
            "notice",
            [],
            f"Every grade of the truth, from {min(grades):g} to {max(grades):g}, reaches `relevance_threshold: {least:g}`: "
            "whatever was rated counts as relevant.",
            "raise the threshold, if low grades say that the user did not like the item",
        )
    elif _are_ratings(grades) and (least is None or least <= _LOWEST * max(grades)):
        setting = "null" if least is None else f"{least:g}"
        share = "every rating" if least is None else "nearly every rating"
        yield warned(
            "low_threshold",
            "notice",
            [],
            f"The grades of the truth, from {min(grades):g} to {max(grades):g}, look like ratings, and with "
            f"`relevance_threshold: {setting}` {share} counts as relevant.",
            f"set the threshold to {least_liked(max(grades))}, or to the lowest rating that says that a user liked the item",
        )


def none_relevant_warnings(config: EvaluationConfig, data: EvaluationData) -> Iterator[Warned]:
    """Yield a warning if no grade of the ground truth reaches the relevance threshold."""
    for problem in threshold_problems(
        data.highest_grade(), config.conventions, "truth", config.settings
    ):
        sentence = f"{problem.where} {problem.what}."
        yield warned("nobody_relevant", "serious", [], sentence, problem.fix)


def least_liked(highest: float) -> int:
    """Return the rating from which on a user liked an item, on a scale up to `highest`."""
    return math.ceil(LIKED * highest)


def _are_ratings(grades: Collection[float]) -> bool:
    """True if the scale is one of stars: it has no 0, which graded judgements have."""
    lowest, highest = HIGHEST_STARS
    return min(grades) > 0 and lowest <= max(grades) <= highest


_SHORTEST = 5  # items of each user, before a truth looks like ranked lists


@dataclass(frozen=True)
class Lengths:
    """How many items users have in a table."""

    users: int
    shortest: float
    median: float
    longest: float

    @classmethod
    def of(cls, counts: Mapping[int, int]) -> "Lengths":
        """Summarise how many users have each number of items."""
        users = sum(counts.values())
        if not users:
            return cls(0, 0, 0, 0)
        return cls(users, min(counts), _median(counts), max(counts))

    @property
    def is_like_ranked_lists(self) -> bool:
        """True if all users have equally many items, and not few."""
        return self.users >= FEWEST and self.shortest == self.longest >= _SHORTEST

    def is_like_truth(self, length: float) -> bool:
        """True if most lists have at most half of so many items, and either all have one or lengths differ."""
        varies = self.longest == 1 or self.shortest < self.longest
        return varies and 2 * self.median <= length


def _median(counts: Mapping[int, int]) -> float:
    """Return the median of values, each of which occurs so many times."""
    values = sorted(counts)
    ends = list(accumulate(counts[value] for value in values))
    middle = (ends[-1] - 1) // 2, ends[-1] // 2
    low, high = (values[bisect_right(ends, place)] for place in middle)
    return (low + high) / 2


def swapped_tables(models: Models, ground: EvaluationData) -> Iterator[Warned]:
    """Return the warning on models whose lists look like a truth, where the truth looks like lists."""
    found: dict[str, Lengths] = {}
    for model, evaluated in models.items():
        for lists in evaluated.each:
            if lists.quality["has_scores"] or not _is_ungraded(lists, ground):
                continue
            fold = lists.quality.get("fold", "")
            if fold not in found:
                found[fold] = Lengths.of(ground.users_by_items(lists))
            lengths = Lengths(0, *(lists.quality["list_length"][n] for n in ("min", "median", "max")))  # fmt: skip
            if found[fold].is_like_ranked_lists and lengths.is_like_truth(found[fold].longest):
                yield swapped(found[fold], lengths, [model])
                return


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


def _is_ungraded(lists: ModelResult, ground: EvaluationData) -> bool:
    folds = ground.truth_quality.get("folds")
    quality = folds[lists.quality["fold"]] if folds else ground.truth_quality
    return list(quality["grades"] or ()) == ["1"]


def data_warnings(overlap: TrainOverlap | None, settings: SettingNames) -> Iterator[Warned]:
    """Yield warnings on a train that does not go with the ground truth."""
    if overlap is None:
        return
    if not overlap.shares_users:
        yield unrelated_train(settings)
    if overlap.rows:
        yield truth_in_train(overlap.rows, overlap.truth_rows, overlap.users)
    if overlap.users_before_train:
        yield truth_before_train(overlap.users_before_train)
    for kind, (late, n_users, n_items) in overlap.born_after.items():
        if late:
            yield born_after(kind, late, overlap.truth_rows, users=n_users, items=n_items)


def unrelated_train(settings: SettingNames) -> Warned:
    """On a train that knows nobody of the truth."""
    return warned(
        "unrelated_train",
        "serious",
        [],
        "No user of the truth stands in the train: is it what these models learned from?",
        settings.own_train,
    )


def truth_in_train(rows: int, total: int, users: int) -> Warned:
    """On rows of the truth, of so many, whose user has the item in the train."""
    return warned(
        "truth_in_train",
        severity_of_rows(rows, total),
        [],
        f"{in_words(rows, 'row')} of the truth ({percent(rows / total)}) of {in_words(users, 'user')} stand in the "
        "train too: models that leave out what users know cannot find them, others have learned the answer.",
        "split so that a pair of user and item is in one of the two",
    )


def born_after(kind: str, rows: int, total: int, *, users: int, items: int) -> Warned:
    """On rows of the truth, of so many, whose item, or whose user, train first has later."""
    held = f"{in_words(rows, 'row')} of the truth ({percent(rows / total)}) "
    if kind == "item":
        held += f"{'holds' if rows == 1 else 'hold'} {in_words(items, 'item')}"
    else:
        held += f"{'is' if rows == 1 else 'are'} of {in_words(users, 'user')}"
    return warned(
        f"{kind}s_born_after",
        severity_of_rows(rows, total),
        [],
        f"{held} that train first has later: models know the {kind} from the future alone.",
        "train on what happened before the truth, with one split time for all users",
    )


def truth_before_train(users: int) -> Warned:
    """On users who have a row of the truth before one of the train."""
    return warned(
        "truth_before_train",
        "notice",
        [],
        f"The truth of {in_words(users, 'user')} begins before their train ends: the split is not by time.",
        "split by time where the model will meet the future",
    )
