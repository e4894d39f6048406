"""Models' results -> one Comparison: what is asked, computed and told."""

from collections.abc import Sequence
from dataclasses import replace

from concord.metrics_core.comparing.best_chances import best_chances
from concord.metrics_core.comparing.differences import differences
from concord.metrics_core.comparing.distributions import distributions
from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evaluated import Ground, lists_of
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.gate_evidence import decided
from concord.metrics_core.comparing.leaderboard import metrics_of, scores
from concord.metrics_core.comparing.panel import panels
from concord.metrics_core.comparing.provenance import (
    COVERS,
    COVERS_TRAININGS,
    conventions,
    provenance,
    quality,
)
from concord.metrics_core.comparing.replicates import replicates
from concord.metrics_core.comparing.segments.segments import segments
from concord.metrics_core.comparing.sentences.retrained import answered
from concord.metrics_core.comparing.sentences.wording import verdict_sentences
from concord.metrics_core.comparing.tradeoffs import tradeoffs
from concord.metrics_core.comparing.unobserved import refuse_other_users
from concord.metrics_core.comparing.warnings.lists import warnings
from concord.metrics_core.comparing.warnings.looked_for import checked_kinds
from concord.metrics_core.comparing.warnings.sampling import sampling_warnings
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Unit, Warned


def compared(evidence: Evidence) -> Comparison:
    """Everything that can be said of these models.

    Raises
    ------
    InputError : a segmentation that the data do not allow, or models that are evaluated on other users
    """
    asked, models, ground = evidence.asked, evidence.models, evidence.ground
    refuse_other_users(evidence)
    pairs, lists = differences(evidence), lists_of(models)
    means = tuple(scores(evidence, pairs))
    over_trainings, of_trainings = replicates(evidence, means, pairs)
    comparison = Comparison(
        title=asked.title,
        baseline=asked.baseline,
        primary=tuple(asked.primary),
        confidence=asked.confidence,
        models=tuple(models),
        metrics=tuple(metrics_of(asked)),
        ks=tuple(asked.ks),
        scores=means,
        pairs=tuple(pairs),
        panel=tuple(panels(asked, models, pairs, evidence.aligned, evidence.unlisted)),
        distributions=tuple(distributions(asked, evidence.aligned)),
        best=tuple(best_chances(evidence)),
        tradeoffs=tuple(tradeoffs(asked, models)),
        segments=tuple(segments(evidence, pairs)),
        warnings=_warnings(evidence, of_trainings),
        checked=tuple(checked_kinds(asked, lists, ground)),
        quality=quality(lists, ground),
        gate=decided(evidence, pairs),
        conventions=conventions(asked),
        provenance=provenance(asked, lists),
        covers=COVERS_TRAININGS if asked.replicates else COVERS,
        replicates=over_trainings,
        unit=_unit(asked, ground),
    )
    return replace(
        comparison,
        verdicts=tuple(verdict_sentences(comparison)),
        replicates=answered(comparison),
    )


def _unit(asked: Asked, ground: Ground) -> Unit | None:
    """What values are of, where it is no user; the columns as the truth was read."""
    mean, folds = asked.conventions.unit_mean, ground.truth_quality.get("folds", {})
    read = next(iter(folds.values()), ground.truth_quality)
    return None if mean is None else Unit(tuple(read["unit"]), mean)


def _warnings(evidence: Evidence, of_trainings: Sequence[Warned]) -> tuple[Warned, ...]:
    """Of every list, of models whose candidates are sampled, and of trainings; the most serious first."""
    asked, models, ground = evidence.asked, evidence.models, evidence.ground
    of_samples = sampling_warnings(asked, models, ground)
    every = [*of_samples, *warnings(asked, lists_of(models), ground), *of_trainings]
    return tuple(sorted(every, key=lambda each: each.severity != "serious"))
