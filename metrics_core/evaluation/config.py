"""Configuration of the evaluation of a model, and checks that the ground truth fits it."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import Location, Problem, SettingNames, argument_names
from concord.metrics_core.metrics.label import Label, parse


@dataclass(frozen=True)
class EvaluationConfig:
    """Labels to evaluate, and their conventions.

    Attributes
    ----------
    conventions : Conventions
        Conventions of all labels.
    labels : list of Label
        Labels to evaluate.
    primary : list of str
        Labels that decide, the most important first.
    settings : SettingNames
        Names of settings in messages: arguments, or keys of params.yaml.
    """

    conventions: Conventions
    labels: list[Label]
    primary: Sequence[str]
    settings: SettingNames

    @classmethod
    def of_one_model(cls, labels: Sequence[Label], conventions: Conventions) -> "EvaluationConfig":
        """Return the configuration of `evaluate`; its first label is primary."""
        return EvaluationConfig(conventions, [*labels], [str(labels[0])], argument_names("truth"))

    @property
    def ks(self) -> list[int]:
        """Cutoffs of the labels, ascending."""
        return sorted({label.k for label in self.labels if label.k is not None})

    @property
    def primary_labels(self) -> list[Label]:
        """The primary labels, in the order given."""
        return self.find_labels(self.primary)

    def find_labels(self, texts: Iterable[str]) -> list[Label]:
        """Return the evaluated labels of these names, or else the labels they mean, each once."""
        labels = {str(label): label for label in self.labels}
        return [labels.get(text) or parse(text) for text in dict.fromkeys(texts)]

    @property
    def main_cutoff(self) -> int | None:
        """The cutoff of the first primary label that has one, else the largest cutoff."""
        primary_ks = [label.k for label in self.primary_labels if label.k is not None]
        return primary_ks[0] if primary_ks else max(self.ks, default=None)

    @property
    def of_requests(self) -> bool:
        """True if the unit of evaluation is a request instead of a user."""
        return self.conventions.unit_mean is not None


def grade_problems(
    highest: float | None,
    labels: Sequence[Label],
    conventions: Conventions,
    truth: str,
    settings: SettingNames,
) -> Iterator[Problem]:
    """Yield problems of the relevance threshold and of the grades that ERR allows.

    Parameters
    ----------
    highest : float or None
        Highest grade of the ground truth; None if it has no rows.
    labels : sequence of Label
        Labels to evaluate.
    conventions : Conventions
        Conventions of the labels.
    truth : str
        Name of the ground truth in messages.
    settings : SettingNames
        Names of the settings of the ground truth.
    """
    least = conventions.relevance_threshold
    if highest is not None and least is not None and highest < least:
        problem = (
            f"is {least:g}, and the highest grade in {truth} is {highest:g}: "
            "no user has a relevant item"
        )
        column = settings.of_table("columns", "grade", value="rating")
        fix = f"lower it, or name the column of the grades: {column}"
        yield Problem(settings.location("conventions", "relevance_threshold"), problem, fix)
    yield from err_grade_problems(highest, labels, conventions, truth, settings)


def err_grade_problems(
    highest: float | None,
    labels: Sequence[Label],
    conventions: Conventions,
    truth: str,
    settings: SettingNames,
) -> Iterator[Problem]:
    """Yield a problem if a grade is above the maximum grade of ERR."""
    limits = [
        (label.conventions(conventions).err_max_grade, label.name)
        for label in labels
        if "err_max_grade" in label.metric.conventions
    ]
    if highest is not None and limits and min(limits)[0] < highest:
        problem = f"is {min(limits)[0]:g}, and {truth} has grade {highest:g}"
        names = dict.fromkeys(name for limit, name in limits if limit < highest)
        fix = f"set it to {highest:g}, or leave out {' and '.join(names)}"
        yield Problem(settings.location("conventions", "err_max_grade"), problem, fix)


def subtopic_problems(
    labels: Sequence[Label], columns: Container[str], settings: SettingNames, location: Location
) -> Iterator[Problem]:
    """Yield the problem of labels that read subtopics, if `columns` names none."""
    names = [str(label) for label in labels if label.metric.reads_subtopics]
    if names and "subtopic" not in columns:
        verb = "reads" if len(names) == 1 else "read"
        problem = f"{', '.join(names)} {verb} subtopics, and the ground truth names none"
        column = settings.of_table("columns", "subtopic")
        fix = f"name the column of the subtopics, `iteration` in TREC qrels: {column}"
        yield Problem(location, problem, fix)
