"""Compute a Comparison from the results of models."""

from collections.abc import Collection, Sequence

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.differences import differences
from concord.metrics_core.comparison.gate_evidence import decided
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.leaderboard import (
    best_chances,
    distributions,
    metrics_of,
    scores,
    tradeoffs,
)
from concord.metrics_core.comparison.panel import panels
from concord.metrics_core.comparison.provenance import (
    COVERS,
    COVERS_TRAININGS,
    COVERS_VALUES,
    conventions,
    provenance,
    quality,
    value_provenance,
)
from concord.metrics_core.comparison.replicates import replicates
from concord.metrics_core.comparison.segments import segments
from concord.metrics_core.comparison.warnings.sampling import sampling_warnings
from concord.metrics_core.comparison.warnings.values import value_warnings
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.model_result import EvaluationData, lists_of
from concord.metrics_core.evaluation.score import is_weighed_sum, names_users
from concord.metrics_core.evaluation.warnings.lists import (
    checked_codes,
    evaluation_warnings,
    unit_word,
)
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import DataWarning, Unit
from concord.metrics_core.results.words import listed


def refuse_other_users(evidence: ComparisonInput) -> None:
    """Refuse models whose lists add different users to those of the truth, where means of weighed sums count them.

    Raises
    ------
    InputError : the models, and how to say who is evaluated
    """
    config, pinned = evidence.config, evidence.config.conventions
    named = evidence.ground.users is not None and names_users(pinned)
    if pinned.propensity is None or named or not _sums(evidence):
        return
    users: dict[str, dict[str, list[str]]] = {}
    for name, each in lists_of(evidence.models).items():
        of_fold = users.setdefault(each.quality.get("fold", ""), {})
        of_fold.setdefault(each.summary["propensity"]["only_in_lists"], []).append(name)
    for of_fold in users.values():
        if len(of_fold) > 1:
            (one, *_), (other, *_) = list(of_fold.values())[:2]
            whose = unit_word(pinned)
            what = (
                f"{one} and {other} have lists for different {whose}s of whom nothing was observed, and under a propensity "
                f"these count 0 in means of {listed(_sums(evidence))}"
            )
            give = (
                f"{config.settings.missing_table('users')[1]}, or " if names_users(pinned) else ""
            )
            fix = f"{give}give both models lists for the same {whose}s"
            raise refuse("conventions: propensity", what, fix)


def _sums(evidence: ComparisonInput) -> list[str]:
    """The labels that count users without an observed item, whether these have a list or not."""
    pinned = evidence.config.conventions
    found = [(label, label.conventions(pinned)) for label in evidence.config.labels]
    return [
        str(label)
        for label, own in found
        if is_weighed_sum(label, own) and own.user_no_recs != "drop"
    ]


def compared(evidence: ComparisonInput) -> Comparison:
    """Everything that can be said of these models.

    Raises
    ------
    InputError : a segmentation that the data do not allow, or models that are evaluated on other users
    """
    config, models, ground = evidence.config, evidence.models, evidence.ground
    refuse_other_users(evidence)
    pairs, lists = differences(evidence), lists_of(models)
    means = tuple(scores(evidence, pairs))
    over_trainings, of_trainings = replicates(evidence, means, pairs)
    return Comparison(
        title=config.title,
        baseline=config.baseline,
        primary=tuple(config.primary),
        confidence=config.confidence,
        models=tuple(models),
        metrics=tuple(metrics_of(config)),
        ks=tuple(config.ks),
        scores=means,
        pairs=tuple(pairs),
        panel=tuple(panels(config, models, pairs, evidence.aligned, evidence.unlisted)),
        distributions=tuple(distributions(config, evidence.aligned)),
        best=tuple(best_chances(evidence)),
        tradeoffs=tuple(tradeoffs(config, models)),
        segments=tuple(segments(evidence, pairs)),
        warnings=_warnings(evidence, of_trainings),
        checked=tuple(checked_codes(config, lists, ground)),
        quality=quality(lists, ground),
        gate=decided(evidence, pairs),
        conventions=conventions(config),
        provenance=provenance(config, lists),
        covers=COVERS_TRAININGS if config.replicates else COVERS,
        replicates=over_trainings,
        unit=_unit(config, ground),
    )


def _unit(config: ComparisonConfig, ground: EvaluationData) -> Unit | None:
    """What values are of, where it is no user; the columns as the truth was read."""
    mean, folds = config.conventions.unit_mean, ground.truth_quality.get("folds", {})
    read = next(iter(folds.values()), ground.truth_quality)
    return None if mean is None else Unit(tuple(read["unit"]), mean)


def _warnings(
    evidence: ComparisonInput, of_trainings: Sequence[DataWarning]
) -> tuple[DataWarning, ...]:
    """Of every list, of models whose candidates are sampled, and of trainings; the most serious first."""
    config, models, ground = evidence.config, evidence.models, evidence.ground
    of_samples = sampling_warnings(config, models, ground)
    every = [*of_samples, *evaluation_warnings(config, lists_of(models), ground), *of_trainings]
    return tuple(sorted(every, key=lambda each: each.severity != "serious"))


def compared_values(evidence: ComparisonInput, stated: Collection[str]) -> Comparison:
    """Return the comparison of models of which only users' values are known.

    It has no panel, trade-offs, segments, gate, replicates and conventions: all of these need lists.

    stated : the metrics of which the caller said whether higher or lower is better
    """
    config, models = evidence.config, evidence.models
    pairs = differences(evidence)
    return Comparison(
        title=config.title,
        baseline=config.baseline,
        primary=tuple(config.primary),
        confidence=config.confidence,
        models=tuple(models),
        metrics=tuple(metrics_of(config)),
        ks=tuple(config.ks),
        scores=tuple(scores(evidence, pairs)),
        pairs=tuple(pairs),
        distributions=tuple(distributions(config, evidence.aligned)),
        best=tuple(best_chances(evidence)),
        warnings=tuple(value_warnings(config, models, stated)),
        checked=("user_sets_differ",) if len(models) > 1 else (),
        quality={model: {"users": each.summary["users"]} for model, each in models.items()},
        provenance=value_provenance(models),
        covers=COVERS_VALUES,
    )
