"""Differences within each segment, and gaps between segments."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import absolute
from concord.metrics_core.comparison.segment_groups import (
    QUESTIONS,
    Grouped,
    UserGroups,
    item_groups,
    user_groups,
)
from concord.metrics_core.comparison.segmentation import ByPopularity, Segmentation
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import is_pooled
from concord.metrics_core.results import comparison_parts as parts
from concord.metrics_core.results.comparison_parts import (
    Difference,
    Gap,
    Segment,
    SegmentCell,
    or_none,
)
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS
from concord.metrics_core.stats.adjustment import benjamini_hochberg
from concord.metrics_core.stats.bootstrap import bootstrap_p, percentile_interval, weighted_means
from concord.metrics_core.stats.paired_test import PairedTest, UserValues, paired_tests
from concord.metrics_core.stats.tolerance import differences
from concord.metrics_core.stats.verdict import verdict


@dataclass(frozen=True)
class _Cell:
    grouped: Grouped
    segment: str
    model: str
    column: UserValues
    against: PairedTest | None  # None for the baseline itself


def cells(
    config: ComparisonConfig,
    labels: Iterable[Grouped],
    overall: Mapping[tuple[str, str], Difference],
    unlisted: Collection[str],
) -> list[SegmentCell]:
    """One a label, group and model. Benjamini-Hochberg over all of them.

    overall  : (label, model) -> its difference to the baseline over all users; a group may turn its sign
    unlisted : models that lack the lists of most users
    """
    found = [cell for grouped in labels for cell in _cells(config, grouped, unlisted)]
    p = np.array([math.nan if c.against is None else c.against.p for c in found], dtype=np.float64)
    adjusted = benjamini_hochberg(p)
    return [
        _told(config, cell, float(q), overall.get((cell.grouped.text, cell.model)))
        for cell, q in zip(found, adjusted, strict=True)
    ]


def _cells(config: ComparisonConfig, grouped: Grouped, unlisted: Collection[str]) -> list[_Cell]:
    found = []
    for segment, values in grouped.values.items():
        others = [model for model in values if model != config.baseline]
        named = [(model, config.baseline) for model in others]
        compared = paired_tests(
            values,
            named,
            confidence=config.confidence,
            clusters=grouped.clusters,
            bounds=grouped.bounds,
            unlisted=unlisted,
        )
        against = dict(zip(others, compared, strict=True))
        found += [
            _Cell(grouped, segment, model, grouped.column(segment, model), against.get(model))
            for model in values
        ]
    return found


def _told(
    config: ComparisonConfig, cell: _Cell, p_adjusted: float, overall: Difference | None
) -> SegmentCell:
    low, high = cell.column.interval(config.confidence)
    found, label = cell.against, cell.grouped.label
    told = None
    if found is not None and label is not None:
        told = verdict(
            found,
            p_adjusted,
            alpha=config.alpha,
            min_effect=_effect(config, cell),
            higher_is_better=label.metric.higher_is_better,
        )
    return SegmentCell(
        label=cell.grouped.text,
        segment=cell.segment,
        model=cell.model,
        mean=or_none(cell.column.mean),
        ci_low=or_none(low),
        ci_high=or_none(high),
        n_users=cell.column.n_defined,
        difference=None if found is None else or_none(found.difference),
        diff_low=None if found is None else or_none(found.ci_low),
        diff_high=None if found is None else or_none(found.ci_high),
        n_nonzero=None if found is None else found.n_nonzero,
        p_adjusted=None if found is None else or_none(p_adjusted),
        verdict=told,
        turns=found is not None
        and p_adjusted < config.alpha
        and _turned(found.difference, overall),
    )


def _effect(config: ComparisonConfig, cell: _Cell) -> float:
    """The smallest difference that matters on the label, or on the first primary one where it is not evaluated."""
    text = cell.grouped.text
    effect = config.min_effects.get(text, config.min_effects[config.primary[0]])
    return absolute(effect, cell.grouped.column(cell.segment, config.baseline).mean)


def _turned(difference: float, overall: Difference | None) -> bool:
    before = None if overall is None else overall.difference
    return before is not None and before * difference < 0


# Users of a group that a gap may be taken from. The extremes are picked, so tiny groups would be; simulated coverage
# of the 95 % interval (benchmarks/SIMULATIONS.md): 0.89 with 5 users in the smaller group, 0.94 with 30.
FEWEST_IN_GAP = 30


@dataclass(frozen=True)
class _Resampled:
    """A gap, and what it is in each resample of the users; resamples are those of all models."""

    gap: Gap
    samples: Floats


def gaps(config: ComparisonConfig, labels: Sequence[Grouped], *, compared: bool) -> list[Gap]:
    """The gap of each label and model; none where fewer than two groups have enough users.

    compared : tell also the ratio, and each model's gap against the baseline's: paired by the resamples of the same users,
               with Benjamini-Hochberg over all of them
    """
    found = [(grouped, _resampled(config, grouped)) for grouped in labels]
    if not compared:
        return [replace(each.gap, ratio=None) for _, made in found for each in made.values()]
    told = [gap for grouped, of_models in found for gap in _compared(config, grouped, of_models)]
    p = np.array([math.nan if gap.p is None else gap.p for gap in told], dtype=np.float64)
    adjusted = benjamini_hochberg(p)
    return [replace(gap, p_adjusted=or_none(float(q))) for gap, q in zip(told, adjusted, strict=True)]  # fmt: skip


def _resampled(config: ComparisonConfig, grouped: Grouped) -> Mapping[str, _Resampled]:
    """Largest minus smallest mean of a group of enough users, each model.

    The interval is by bootstrap, with the groups held fixed.
    """
    found = {}
    for model in next(iter(grouped.values.values()), {}):
        columns = {group: grouped.column(group, model) for group in grouped.values}
        means = {g: column.mean for g, column in columns.items() if column.n_defined >= FEWEST_IN_GAP}  # fmt: skip
        if len(means) < 2:  # noqa: PLR2004 - a gap is between two
            continue
        low, *_, high = sorted(means, key=means.__getitem__)  # two groups, also where all are equal
        both = np.column_stack([columns[high].by_user, columns[low].by_user])
        samples = weighted_means(both, resamples=config.resamples, seed=config.seed)
        apart = samples[:, 0] - samples[:, 1]
        ratio = means[low] / means[high] if means[high] > 0 else None
        ends = percentile_interval(apart, config.confidence)
        gap = Gap(grouped.text, model, low, high, means[high] - means[low], *ends, ratio=ratio)
        found[model] = _Resampled(gap, apart)
    return found


def _compared(
    config: ComparisonConfig, grouped: Grouped, of_models: Mapping[str, _Resampled]
) -> Iterator[Gap]:
    theirs = of_models.get(config.baseline)
    for model, ours in of_models.items():
        if theirs is None or model == config.baseline:
            yield ours.gap
            continue
        apart = ours.samples - theirs.samples
        low, high = percentile_interval(apart, config.confidence)
        enough = _differing(grouped, model, config.baseline) >= MIN_DIFFERING_USERS
        yield replace(
            ours.gap,
            difference=ours.gap.gap - theirs.gap.gap,
            diff_low=or_none(low),
            diff_high=or_none(high),
            p=bootstrap_p(apart) if enough else None,
        )


def _differing(grouped: Grouped, a: str, b: str) -> int:
    """Users whose values differ between two models; of a user with several requests, whose mean does."""
    users = np.zeros(0, dtype=bool)
    for of_models in grouped.values.values():
        apart = differences(of_models[a], of_models[b])
        of_users = apart if grouped.clusters is None else grouped.clusters.means(apart)
        differ = np.nan_to_num(of_users) != 0
        users = differ if not len(users) else users | differ
    return int(np.count_nonzero(users))


def segments(
    evidence: ComparisonInput, differences: Sequence[Difference]
) -> Iterator[parts.Segmentation]:
    """Every segmentation, in the order given."""
    config = evidence.config
    overall = {(pair.label, pair.a): pair for pair in differences if pair.vs_baseline}
    for name, segmentation in config.segments.items():
        labels, question = _grouped(evidence, name, segmentation)
        found = cells(config, labels, overall, evidence.unlisted)
        yield parts.Segmentation(
            name=name,
            kind=segmentation.by if isinstance(segmentation, ByPopularity) else "user",
            question=question,
            labels=tuple(grouped.text for grouped in labels),
            segments=tuple(_segments(labels)),
            cells=tuple(found),
            fewest_in_gap=FEWEST_IN_GAP,
            gaps=tuple(gaps(config, labels, compared=segmentation.compare_gaps)),
        )


def segment_cells(evidence: ComparisonInput, name: str) -> list[parts.SegmentCell]:
    """The models in each group of one segmentation, without a look at all users."""
    labels, _ = _grouped(evidence, name, evidence.config.segments[name])
    return cells(evidence.config, labels, {}, evidence.unlisted)


def _grouped(
    evidence: ComparisonInput, name: str, segmentation: Segmentation
) -> tuple[list[Grouped], str]:
    """The labels in each group, and the question that the groups ask."""
    if isinstance(segmentation, ByPopularity):
        k = evidence.config.main_cutoff
        found = [] if k is None else [item_groups(evidence, segmentation, k)]
        return found, QUESTIONS[segmentation.by]
    groups = user_groups(evidence, name, segmentation)
    return _in_groups(evidence, groups), groups.question


def _in_groups(evidence: ComparisonInput, groups: UserGroups) -> list[Grouped]:
    """The primary labels that are means over users, in each group."""
    config = evidence.config
    labels = [label for label in config.primary_labels if not is_pooled(label, config.conventions)]
    return [groups.grouped(evidence, label) for label in labels]


def _segments(labels: Sequence[Grouped]) -> list[Segment]:
    """The groups and the users in them: those with a value from any model."""
    groups = dict.fromkeys(group for grouped in labels for group in grouped.values)
    return [Segment(group, max(_users(grouped, group) for grouped in labels)) for group in groups]


def _users(grouped: Grouped, group: str) -> int:
    columns = grouped.values.get(group, {}).values()
    known = np.logical_or.reduce([~np.isnan(column) for column in columns])
    return (
        int(known.sum())
        if grouped.clusters is None
        else len(np.unique(grouped.clusters.user[known]))
    )
