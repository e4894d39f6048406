"""Configuration of the evaluation of a model."""

from collections.abc import Sequence
from dataclasses import dataclass

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import SettingNames, argument_names
from concord.metrics_core.metrics.label import Label


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
        labels = {str(label): label for label in self.labels}
        return [labels[text] for text in self.primary]

    @property
    def main_cutoff(self) -> int | None:
        """The cutoff of the first primary label that has one, else the largest cutoff."""
        primary_ks = [label.k for label in self.primary_labels if label.k is not None]
        return primary_ks[0] if primary_ks else max(self.ks, default=None)

    @property
    def of_requests(self) -> bool:
        """True if the unit of evaluation is a request instead of a user."""
        return self.conventions.unit_mean is not None
