"""Trainings that lie far from the others of their model, as one that failed does."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from concord.metrics_core.comparing.warnings.warned import warned
from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.comparison.words import listed, number


@dataclass(frozen=True)
class OutlyingTraining:
    """A training whose mean, or whose difference to the baseline, lies far from those of the others.

    name      : of its lists
    baseline  : None where it is the mean that lies far
    value     : its mean or difference; `low` and `high`: the ends of the others
    places    : digits of these numbers
    """

    label: str
    model: str
    name: str
    baseline: str | None
    value: float
    low: float
    high: float
    places: int


def training_warnings(found: Iterable[OutlyingTraining]) -> Iterator[Warned]:
    """One warning a training, with all labels on which it is an outlier."""
    of_training: dict[tuple[str, str], list[OutlyingTraining]] = {}
    for each in found:
        of_training.setdefault((each.model, each.name), []).append(each)
    for (model, name), of_labels in of_training.items():
        first, labels = of_labels[0], listed([each.label for each in of_labels])
        value, low, high = (
            number(each, first.places) for each in (first.value, first.low, first.high)
        )
        others = f"{low} to {high}" if low != high else low
        what = "" if first.baseline is None else f" by the difference to {first.baseline}"
        yield warned(
            "outlying_training",
            "notice",
            [model],
            f"{name} lies far from the other trainings of {model}{what} on {labels}: {value} on {first.label}, the "
            f"others {others}. Where trainings fail now and then, intervals over new trainings are too short.",
            "look at what happened in this training, and train more often",
        )
