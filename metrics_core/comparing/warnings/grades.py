"""What the grades of the truth say of the threshold above which an item is relevant."""

import math
from collections.abc import Collection, Iterator

from concord.metrics_core.comparing.warnings.warned import warned
from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.conventions.conventions import Conventions

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


def least_liked(highest: float) -> int:
    """Return the rating from which on a user liked an item, on a scale up to `highest`."""
    return math.ceil(LIKED * highest)


def _are_ratings(grades: Collection[float]) -> bool:
    """True if the scale is one of stars: it has no 0, which graded judgements have."""
    lowest, highest = HIGHEST_STARS
    return min(grades) > 0 and lowest <= max(grades) <= highest
