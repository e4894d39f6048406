"""What params.yaml asks of the comparison, in the spelling of the labels that are evaluated."""

from dataclasses import dataclass

from metrics_core.checking.problems import InputError, Problem
from metrics_core.metrics.catalogue import CATALOGUE, Label, parse
from pipeline.params.label_checks import DEFAULT, choice_findings, spelled
from pipeline.params.labels import labels_of
from pipeline.params.model import PARAMS, Params

Effect = float | str


@dataclass(frozen=True)
class Choices:
    """`labels` in report order; `min_effects` has every label: a number, or a share of the baseline's mean ("2%")."""

    labels: list[Label]
    primary: list[str]
    min_effects: dict[str, Effect]

    @property
    def of_primary(self) -> list[Label]:
        """The primary labels, in the order of params.yaml."""
        return [parse(text) for text in self.primary]

    @property
    def main_k(self) -> int | None:
        """The cutoff of the first primary label that has one; else the greatest that is evaluated."""
        known = [label.k for label in self.of_primary if label.k is not None]
        every = [label.k for label in self.labels if label.k is not None]
        return known[0] if known else max(every, default=None)


def read_choices(params: Params) -> Choices:
    """The choices, refused where they name a label that is not evaluated."""
    order = [metric.name for metric in CATALOGUE]
    labels = sorted(labels_of(params), key=lambda label: order.index(label.name))
    evaluated = {str(label) for label in labels}
    problems = [
        Problem(f"{PARAMS}: {'.'.join(keys)}", what, fix)
        for keys, what, fix in choice_findings(params, evaluated)
    ]
    if problems:
        raise InputError(problems)
    primary = [spelled(text) for text in params.comparison.primary]
    return Choices(labels, primary, _min_effects(params, evaluated))


def absolute(effect: Effect, baseline_mean: float) -> float:
    """The smallest difference that matters, as a number."""
    if isinstance(effect, str):
        return float(effect.removesuffix("%")) / 100 * abs(baseline_mean)
    return float(effect)


def _min_effects(params: Params, evaluated: set[str]) -> dict[str, Effect]:
    effects = params.comparison.min_effect
    if not isinstance(effects, dict):
        return dict.fromkeys(evaluated, effects)
    named = {spelled(text): effect for text, effect in effects.items()}
    return {label: named[label] if label in named else named[DEFAULT] for label in evaluated}
