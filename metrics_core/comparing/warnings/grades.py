"""What the grades of the truth say of the threshold above which an item is relevant."""

from collections.abc import Collection, Iterator

from concord.metrics_core.comparing.warnings.warned import warned
from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.conventions.conventions import Conventions

SCALE = 4  # so many different grades look like stars, whose lowest say that a user did not like the item


def grade_warnings(grades: Collection[float], conventions: Conventions) -> Iterator[Warned]:
    """On a scale whose every grade counts as relevant.

    grades : the different grades of the truth; empty where they are too many to be a scale
    """
    least = conventions.relevance_threshold
    if least is not None and len(grades) >= SCALE and min(grades) >= least:
        yield warned(
            "all_relevant",
            "notice",
            [],
            f"Every grade of the truth, from {min(grades):g} to {max(grades):g}, reaches `relevance_threshold: {least:g}`: "
            "whatever was rated counts as relevant.",
            "raise the threshold, if low grades say that the user did not like the item",
        )
