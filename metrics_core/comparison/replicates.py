"""Compute means and differences of models with replicates, over new users and new trainings."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.warnings.values import OutlyingTraining, training_warnings
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.results.comparison_parts import (
    DataWarning,
    Difference,
    Score,
    or_nan,
    or_none,
)
from concord.metrics_core.results.replicates import (
    ReplicatedDifference,
    ReplicatedScore,
    Replicates,
)
from concord.metrics_core.results.words import metric_decimals
from concord.metrics_core.stats.adjustment import adjust
from concord.metrics_core.stats.replicates import (
    ReplicateEstimate,
    ReplicateValues,
    VarianceEstimate,
    find_outlier,
    order_reversals,
    replicates_needed,
    users_needed,
)
from concord.metrics_core.stats.verdict import difference_standard_error, interval_verdict

_FIXED_USERS = VarianceEstimate(0.0, 2)


def replicates(
    inputs: ComparisonInput, scores: Sequence[Score], pairs: Sequence[Difference]
) -> tuple[Replicates | None, list[DataWarning]]:
    """Return what other trainings would change, and warnings; None where every model was trained once."""
    config = inputs.config
    if not config.replicates:
        return None, []
    replicated_scores: list[ReplicatedScore] = []
    differences: list[ReplicatedDifference] = []
    outlying: list[OutlyingTraining] = []
    nested = False
    for label in config.labels:  # the values of one label are held at a time
        of_label = _ReplicatedLabel(label, config, _trained(inputs, label))
        of_scores = [each for each in scores if each.label == str(label)]
        replicated_scores += of_label.scores(of_scores)
        of_pairs = [each for each in pairs if each.label == str(label)]
        differences += of_label.pairs(of_pairs)
        outlying += of_label.outlying(metric_decimals(of_pairs, of_scores))
        nested = nested or of_label.nested
    over_trainings = Replicates(
        models=config.replicates,
        paired=config.paired_replicates,
        nested=nested,
        scores=tuple(replicated_scores),
        pairs=tuple(_with_verdicts(config, differences, pairs)),
    )
    return over_trainings, list(training_warnings(outlying))


def _trained(inputs: ComparisonInput, label: Label) -> dict[str, ReplicateValues]:
    """Return model -> users' values in each replicate; a value over all users counts as that of one user."""
    config, aligned = inputs.config, inputs.aligned
    if _is_over_all(label, config):
        means = {m: [e.mean(str(label)) for e in each.each] for m, each in inputs.models.items()}
        return {
            m: ReplicateValues(np.array([[or_nan(v)] for v in of_model]))
            for m, of_model in means.items()
        }
    undefined = label.conventions(config.conventions).undefined
    clusters = aligned.clusters_for(label, config.conventions)
    return {
        m: ReplicateValues(aligned.by_replicate(m, str(label), undefined), clusters)
        for m in inputs.models
    }


def _is_over_all(label: Label, config: ComparisonConfig) -> bool:
    """True if the label has one value over all users."""
    return label.metric.is_aggregate or is_pooled(label, config.conventions)


@dataclass(frozen=True)
class _ReplicatedLabel:
    """The values of a label in each replicate of each model."""

    label: Label
    config: ComparisonConfig
    trained: Mapping[str, ReplicateValues]

    @property
    def nested(self) -> bool:
        return self.over_users and any(
            each.is_nested for each in self.trained.values() if each.n > 1
        )

    @property
    def over_users(self) -> bool:
        return not _is_over_all(self.label, self.config)

    def scores(self, scores: Sequence[Score]) -> Iterator[ReplicatedScore]:
        for score in scores:
            trained = self.trained[score.model]
            if trained.n > 1:
                users = self._users(trained.standard_error, score.n_users, trained)
                mean = ReplicateEstimate(or_nan(score.mean), users, (trained.variance_of_mean,))
                low, high = mean.interval(self.config.confidence)
                yield ReplicatedScore(
                    label=score.label,
                    model=score.model,
                    means=tuple(map(or_none, trained.means)),
                    sd_trainings=or_none(math.sqrt(trained.replicate_variance)),
                    ci_low=or_none(low),
                    ci_high=or_none(high),
                )

    def pairs(self, pairs: Sequence[Difference]) -> Iterator[ReplicatedDifference]:
        for pair in pairs:
            a, b = self.trained[pair.a], self.trained[pair.b]
            if max(a.n, b.n) > 1:
                yield self._pair(pair, a, b)

    def outlying(self, digits: int) -> Iterator[OutlyingTraining]:
        """Yield the replicates that are far from the others of their model on a primary label.

        A training that fails has a worse mean, so only that side is tested. If replicates are paired, what seeds or
        folds share cancels in the difference to the baseline, whose training may be the one that failed.
        """
        label, baseline = str(self.label), self.config.baseline
        if label not in self.config.primary or not self.over_users:
            return
        worse = 1 if self.label.metric.higher_is_better else -1
        for model, lists in self.config.replicates.items():
            trained, paired = self.trained[model], self._paired(model, baseline)
            if paired and model == baseline:
                continue
            if paired:
                trained = trained.minus(self.trained[baseline])
            position = find_outlier(
                trained.means, (1, -1) if paired else (worse,), trained.residual_variance_of_mean
            )
            if position is not None:
                others = [mean for other, mean in enumerate(trained.means) if other != position]
                yield OutlyingTraining(
                    label=label,
                    model=model,
                    lists=list(lists.values())[position],
                    baseline=baseline if paired else None,
                    value=trained.means[position],
                    low=min(others),
                    high=max(others),
                    digits=digits,
                )

    def _paired(self, a: str, b: str) -> bool:
        return self.config.paired_replicates and self.trained[a].n == self.trained[b].n

    def _pair(
        self, pair: Difference, a: ReplicateValues, b: ReplicateValues
    ) -> ReplicatedDifference:
        paired = self._paired(pair.a, pair.b)
        gaps = [a.minus(b)] if paired else [each for each in (a, b) if each.n > 1]
        difference = or_nan(pair.difference)
        error = difference_standard_error(pair, self.config.confidence)
        estimate = ReplicateEstimate(
            difference,
            self._users(error, pair.n_users, *gaps),
            tuple(each.variance_of_mean for each in gaps),
        )
        low, high = estimate.interval(self.config.confidence)
        reversals = order_reversals(a, b, difference, paired=paired)
        is_open = low <= 0 <= high
        return ReplicatedDifference(
            label=pair.label,
            a=pair.a,
            b=pair.b,
            vs_baseline=pair.vs_baseline,
            primary=pair.primary,
            trainings_a=a.n,
            trainings_b=b.n,
            over_users=self.over_users,
            trainings_df=or_none(estimate.replicate_variance.n - 1),
            difference=pair.difference,
            ci_low=or_none(low),
            ci_high=or_none(high),
            p=or_none(estimate.p),
            p_adjusted=None,
            verdict="no_interval",
            share=or_none(estimate.replicate_share),
            turned=reversals.count,
            of=reversals.n_pairs,
            chance=or_none(reversals.probability),
            users_needed=users_needed(estimate, self.config.confidence) if is_open else None,
            trainings_needed=replicates_needed(estimate, self.config.confidence)
            if is_open
            else None,
        )

    def _users(
        self, error: float | None, n_users: int, *trained: ReplicateValues
    ) -> VarianceEstimate:
        """Return the variance due to users; none if users are fixed or nested in replicates."""
        if not self.over_users or any(each.is_nested for each in trained):
            return _FIXED_USERS
        return VarianceEstimate(or_nan(error) ** 2, n_users)


def _with_verdicts(
    config: ComparisonConfig,
    differences: Sequence[ReplicatedDifference],
    pairs: Sequence[Difference],
) -> Iterator[ReplicatedDifference]:
    """Yield differences with verdicts and adjusted p-values: by Holm if primary, else by Benjamini and Hochberg."""
    over_users = {(pair.label, pair.a, pair.b): pair for pair in pairs}
    primary = np.array([each.primary for each in differences], dtype=bool)
    p = np.array(
        [
            math.nan
            if over_users[each.label, each.a, each.b].verdict == "not_comparable"
            else or_nan(each.p)
            for each in differences
        ],
        dtype=np.float64,
    )
    labels = {str(label): label for label in config.labels}
    for each, p_adjusted in zip(differences, adjust(p, primary).tolist(), strict=True):
        pair = over_users[each.label, each.a, each.b]
        if pair.verdict == "not_comparable":
            yield replace(
                each,
                ci_low=None,
                ci_high=None,
                p=None,
                share=None,
                chance=None,
                users_needed=None,
                trainings_needed=None,
                verdict="not_comparable",
            )
        elif each.ci_low is None or each.ci_high is None:
            yield replace(each, verdict=pair.verdict) if pair.ci_low is None else each
        else:
            sign = 1 if labels[each.label].metric.higher_is_better else -1
            low, high = sorted((sign * each.ci_low, sign * each.ci_high))
            verdict = interval_verdict(
                sign * or_nan(each.difference),
                low,
                high,
                significant=p_adjusted < config.alpha,
                min_effect=or_nan(pair.min_effect),
            )
            yield replace(each, p_adjusted=or_none(p_adjusted), verdict=verdict)
