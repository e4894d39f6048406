"""What params.yaml asks of the comparison, in the spelling of the labels that are evaluated."""

from collections.abc import Iterator
from dataclasses import dataclass

from metrics_core.catalogue import CATALOGUE, Label, parse
from metrics_core.conventions import nearest
from metrics_core.problems import InputError, Problem
from pipeline.labels import labels_of, spelled
from pipeline.params import PARAMS, Params

DEFAULT = "default"  # of comparison.min_effect, for the labels that it does not name
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
    problems = [*_primary_problems(params, evaluated), *_effect_problems(params, evaluated)]
    if problems:
        raise InputError(problems)
    primary = [spelled(text) for text in params.comparison.primary]
    return Choices(labels, primary, _min_effects(params, evaluated))


def absolute(effect: Effect, baseline_mean: float) -> float:
    """The smallest difference that matters, as a number."""
    if isinstance(effect, str):
        return float(effect.removesuffix("%")) / 100 * abs(baseline_mean)
    return float(effect)


def _primary_problems(params: Params, evaluated: set[str]) -> Iterator[Problem]:
    where = f"{PARAMS}: comparison.primary"
    named = [spelled(text) for text in params.comparison.primary]
    for label in dict.fromkeys(named):
        if label not in evaluated:
            yield _not_evaluated(where, label, evaluated)
        elif parse(label).metric.of_catalogue:
            what = f"{label} is one number over all users, so there is nothing to test"
            yield Problem(where, what, "name a metric that has a value for each user")
        if named.count(label) > 1:
            yield Problem(where, f"names {label} more than once", "name each label once")


def _effect_problems(params: Params, evaluated: set[str]) -> Iterator[Problem]:
    effects = params.comparison.min_effect
    if not isinstance(effects, dict):
        return
    where = f"{PARAMS}: comparison.min_effect"
    named = {spelled(text) for text in effects if text != DEFAULT}
    for label in sorted(named - evaluated):
        yield _not_evaluated(where, label, evaluated)
    missing = sorted(evaluated - named)
    if missing and DEFAULT not in effects:
        what = f"says nothing for {missing[0]}" + (
            f" and {len(missing) - 1} more labels" * (len(missing) > 1)
        )
        yield Problem(where, what, f"add `{DEFAULT}:` for the labels that it does not name")


def _not_evaluated(where: str, label: str, evaluated: set[str]) -> Problem:
    fix = f"{nearest(label, evaluated)} (or add it to evaluation.metrics and evaluation.ks)"
    return Problem(where, f"{label!r} is not evaluated", fix)


def _min_effects(params: Params, evaluated: set[str]) -> dict[str, Effect]:
    effects = params.comparison.min_effect
    if not isinstance(effects, dict):
        return dict.fromkeys(evaluated, effects)
    named = {spelled(text): effect for text, effect in effects.items()}
    return {label: named[label] if label in named else named[DEFAULT] for label in evaluated}
