"""Do the grades of the truth go with the conventions? Told before any number is made."""

from collections.abc import Iterator, Sequence

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import Problem, SettingNames
from concord.metrics_core.metrics.label import Label


def grade_problems(
    highest: float | None,
    labels: Sequence[Label],
    conventions: Conventions,
    truth: str,
    settings: SettingNames,
) -> Iterator[Problem]:
    """Why all metrics would be undefined, or ERR no probability.

    Parameters
    ----------
    highest  : the highest grade of the truth; None where it has no row
    truth    : what messages call it
    settings : those of the truth
    """
    yield from threshold_problems(highest, conventions, truth, settings)
    yield from err_grade_problems(highest, labels, conventions, truth, settings)


def threshold_problems(
    highest: float | None, conventions: Conventions, truth: str, settings: SettingNames
) -> Iterator[Problem]:
    """A threshold that no grade reaches."""
    least = conventions.relevance_threshold
    if highest is not None and least is not None and highest < least:
        what = f"is {least:g}, and the highest grade in {truth} is {highest:g}: nobody has a relevant item"
        named = settings.columns("grade", "rating")
        fix = f"lower it, or name the column of the grades: {named}"
        yield Problem(settings.location("conventions.relevance_threshold"), what, fix)


def err_grade_problems(
    highest: float | None,
    labels: Sequence[Label],
    conventions: Conventions,
    truth: str,
    settings: SettingNames,
) -> Iterator[Problem]:
    """A grade above the highest that ERR makes a probability of."""
    limits = [
        label.conventions(conventions).err_max_grade for label in labels if label.name == "ERR"
    ]
    if highest is not None and limits and min(limits) < highest:
        what = f"is {min(limits):g}, and {truth} has grade {highest:g}"
        fix = f"set it to {highest:g}, or leave out ERR"
        yield Problem(settings.location("conventions.err_max_grade"), what, fix)
