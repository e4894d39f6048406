"""Users' values of models -> one Comparison, as far as values alone allow."""

from collections.abc import Collection
from dataclasses import replace

from concord.metrics_core.comparing.best_chances import best_chances
from concord.metrics_core.comparing.differences import differences
from concord.metrics_core.comparing.distributions import distributions
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.leaderboard import metrics_of, scores
from concord.metrics_core.comparing.provenance import COVERS_VALUES, value_provenance
from concord.metrics_core.comparing.sentences.wording import verdict_sentences
from concord.metrics_core.comparing.warnings.values import value_warnings
from concord.metrics_core.comparison.comparison import Comparison


def compared_values(evidence: Evidence, stated: Collection[str]) -> Comparison:
    """Return the comparison of models of which only users' values are known.

    It has no panel, trade-offs, segments, gate, replicates and conventions: all of these need lists.

    stated : the metrics of which the caller said whether higher or lower is better
    """
    asked, models = evidence.asked, evidence.models
    pairs = differences(evidence)
    comparison = Comparison(
        title=asked.title,
        baseline=asked.baseline,
        primary=tuple(asked.primary),
        confidence=asked.confidence,
        models=tuple(models),
        metrics=tuple(metrics_of(asked)),
        ks=tuple(asked.ks),
        scores=tuple(scores(evidence, pairs)),
        pairs=tuple(pairs),
        distributions=tuple(distributions(asked, evidence.aligned)),
        best=tuple(best_chances(evidence)),
        warnings=tuple(value_warnings(asked, models, stated)),
        checked=("user_sets_differ",) if len(models) > 1 else (),
        quality={model: {"users": each.summary["users"]} for model, each in models.items()},
        provenance=value_provenance(models),
        covers=COVERS_VALUES,
    )
    return replace(comparison, verdicts=tuple(verdict_sentences(comparison)))
