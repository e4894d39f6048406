"""Compute differences within each segment, and gaps between segments."""

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
    item_groups,
    user_groups,
)
from concord.metrics_core.comparison.segmentation import ByPopularity, Segmentation
from concord.metrics_core.metrics.judged import Bools, Floats
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
from concord.metrics_core.stats.tolerance import differences as rounded_differences
from concord.metrics_core.stats.verdict import verdict


@dataclass(frozen=True)
class _CellTest:
    """A model in a group, and its test against the baseline; None for the baseline itself."""

    grouped: Grouped
    segment: str
    model: str
    column: UserValues
    paired: PairedTest | None


def _segment_cells(
    config: ComparisonConfig,
    labels: Iterable[Grouped],
    overall: Mapping[tuple[str, str], Difference],
    unlisted: Collection[str],
) -> list[SegmentCell]:
    """Return one cell per label, group and model; p-values are adjusted by Benjamini and Hochberg over all.

    Parameters
    ----------
    overall : dict
        (label, model) -> its difference to the baseline over all users, whose sign a group may reverse.
    unlisted : collection of str
        Models that are not compared.
    """
    tests = [test for grouped in labels for test in _cell_tests(config, grouped, unlisted)]
    p = np.array([t.paired.p if t.paired else math.nan for t in tests], dtype=np.float64)
    return [
        _cell(config, test, float(p_adjusted), overall.get((test.grouped.text, test.model)))
        for test, p_adjusted in zip(tests, benjamini_hochberg(p), strict=True)
    ]


def _cell_tests(
    config: ComparisonConfig, grouped: Grouped, unlisted: Collection[str]
) -> Iterator[_CellTest]:
    for segment, values in grouped.values.items():
        others = [model for model in values if model != config.baseline]
        results = paired_tests(
            values,
            [(model, config.baseline) for model in others],
            confidence=config.confidence,
            clusters=grouped.clusters,
            bounds=grouped.bounds,
            unlisted=unlisted,
        )
        paired = dict(zip(others, results, strict=True))
        for model in values:
            column = grouped.column(segment, model)
            yield _CellTest(grouped, segment, model, column, paired.get(model))


def _cell(
    config: ComparisonConfig, test: _CellTest, p_adjusted: float, overall: Difference | None
) -> SegmentCell:
    low, high = test.column.interval(config.confidence)
    paired, label = test.paired, test.grouped.label
    cell = SegmentCell(
        label=test.grouped.text,
        segment=test.segment,
        model=test.model,
        mean=or_none(test.column.mean),
        ci_low=or_none(low),
        ci_high=or_none(high),
        n_users=test.column.n_defined,
        difference=None,
        diff_low=None,
        diff_high=None,
        n_nonzero=None,
        p_adjusted=None,
        verdict=None,
        turns=False,
    )
    if paired is None:
        return cell
    before = None if overall is None else overall.difference
    is_reversed = before is not None and before * paired.difference < 0
    return replace(
        cell,
        difference=or_none(paired.difference),
        diff_low=or_none(paired.ci_low),
        diff_high=or_none(paired.ci_high),
        n_nonzero=paired.n_nonzero,
        p_adjusted=or_none(p_adjusted),
        verdict=None
        if label is None
        else verdict(
            paired,
            p_adjusted,
            alpha=config.alpha,
            min_effect=_min_effect(config, test),
            higher_is_better=label.metric.higher_is_better,
        ),
        turns=p_adjusted < config.alpha and is_reversed,
    )


def _min_effect(config: ComparisonConfig, test: _CellTest) -> float:
    """Return the minimum relevant difference of the label, of the first primary one if it is not evaluated."""
    text = test.grouped.text
    effect = config.min_effects.get(text, config.min_effects[config.primary[0]])
    return absolute(effect, test.grouped.column(test.segment, config.baseline).mean)


# Users of a group that a gap may be taken from. The extremes are picked, so tiny groups would be; simulated coverage
# of the 95 % interval (benchmarks/SIMULATIONS.md): 0.89 with 5 users in the smaller group, 0.94 with 30.
FEWEST_IN_GAP = 30


def _gaps(config: ComparisonConfig, labels: Sequence[Grouped], *, compared: bool) -> list[Gap]:
    """Return the gap of each label and model with two groups of enough users.

    Parameters
    ----------
    compared : bool
        True to add the ratio, and each model's gap minus the baseline's: paired by resamples of the same users, with
        p-values adjusted by Benjamini and Hochberg over all.
    """
    resampled = [(grouped, _resampled_gaps(config, grouped)) for grouped in labels]
    if not compared:
        return [replace(gap, ratio=None) for _, gaps in resampled for gap, _ in gaps.values()]
    gaps = [gap for grouped, each in resampled for gap in _compare_gaps(config, grouped, each)]
    p = np.array([math.nan if gap.p is None else gap.p for gap in gaps], dtype=np.float64)
    return [
        replace(gap, p_adjusted=or_none(float(p_adjusted)))
        for gap, p_adjusted in zip(gaps, benjamini_hochberg(p), strict=True)
    ]


def _resampled_gaps(config: ComparisonConfig, grouped: Grouped) -> dict[str, tuple[Gap, Floats]]:
    """Return model -> its gap, and the gap in each resample of the users; resamples are the same for all models.

    The gap is the largest minus the smallest mean of a group with enough users. Its interval is by bootstrap, with these
    two groups held fixed.
    """
    gaps = {}
    for model in next(iter(grouped.values.values()), {}):
        columns = {group: grouped.column(group, model) for group in grouped.values}
        means = {
            group: column.mean
            for group, column in columns.items()
            if column.n_defined >= FEWEST_IN_GAP
        }
        if len(means) < 2:  # noqa: PLR2004 - a gap is between two
            continue
        low, *_, high = sorted(means, key=means.__getitem__)  # two groups, also if all are equal
        both = np.column_stack([columns[high].by_user, columns[low].by_user])
        samples = weighted_means(both, resamples=config.resamples, seed=config.seed)
        gap_samples = samples[:, 0] - samples[:, 1]
        ratio = means[low] / means[high] if means[high] > 0 else None
        ends = percentile_interval(gap_samples, config.confidence)
        gap = Gap(grouped.text, model, low, high, means[high] - means[low], *ends, ratio=ratio)
        gaps[model] = gap, gap_samples
    return gaps


def _compare_gaps(
    config: ComparisonConfig, grouped: Grouped, gaps: Mapping[str, tuple[Gap, Floats]]
) -> Iterator[Gap]:
    """Yield each gap, with its difference to the gap of the baseline."""
    for model, (gap, samples) in gaps.items():
        if config.baseline not in gaps or model == config.baseline:
            yield gap
            continue
        baseline, baseline_samples = gaps[config.baseline]
        differences = samples - baseline_samples
        low, high = percentile_interval(differences, config.confidence)
        has_test = _count_differing(grouped, model, config.baseline) >= MIN_DIFFERING_USERS
        yield replace(
            gap,
            difference=gap.gap - baseline.gap,
            diff_low=or_none(low),
            diff_high=or_none(high),
            p=bootstrap_p(differences) if has_test else None,
        )


def _count_differing(grouped: Grouped, a: str, b: str) -> int:
    """Return how many users have different values, or different means of their requests, with two models."""
    differs: Bools | None = None
    for values in grouped.values.values():
        of_users = rounded_differences(values[a], values[b])
        if grouped.clusters is not None:
            of_users = grouped.clusters.means(of_users)
        nonzero = np.nan_to_num(of_users) != 0
        differs = nonzero if differs is None else differs | nonzero
    return 0 if differs is None else int(np.count_nonzero(differs))


def segments(
    inputs: ComparisonInput, differences: Sequence[Difference]
) -> Iterator[parts.Segmentation]:
    """Yield the segmentations, in the order given."""
    config = inputs.config
    overall = {(pair.label, pair.a): pair for pair in differences if pair.vs_baseline}
    for name, segmentation in config.segments.items():
        labels, question = _grouped(inputs, name, segmentation)
        groups = dict.fromkeys(group for grouped in labels for group in grouped.values)
        yield parts.Segmentation(
            name=name,
            kind=segmentation.by if isinstance(segmentation, ByPopularity) else "user",
            question=question,
            labels=tuple(grouped.text for grouped in labels),
            segments=tuple(
                Segment(group, max(_count_users(grouped, group) for grouped in labels))
                for group in groups
            ),
            cells=tuple(_segment_cells(config, labels, overall, inputs.unlisted)),
            fewest_in_gap=FEWEST_IN_GAP,
            gaps=tuple(_gaps(config, labels, compared=segmentation.compare_gaps)),
        )


def segment_cells(inputs: ComparisonInput, name: str) -> list[parts.SegmentCell]:
    """Return the cells of one segmentation, without a comparison over all users."""
    labels, _ = _grouped(inputs, name, inputs.config.segments[name])
    return _segment_cells(inputs.config, labels, {}, inputs.unlisted)


def _grouped(
    inputs: ComparisonInput, name: str, segmentation: Segmentation
) -> tuple[list[Grouped], str]:
    """Return the labels in each group, and the question that the groups answer.

    Groups of users have the primary labels that are means over users.
    """
    config = inputs.config
    if isinstance(segmentation, ByPopularity):
        k = config.main_cutoff
        labels = [] if k is None else [item_groups(inputs, segmentation, k)]
        return labels, QUESTIONS[segmentation.by]
    groups = user_groups(inputs, name, segmentation)
    primary = [x for x in config.primary_labels if not is_pooled(x, config.conventions)]
    return [groups.grouped(inputs, label) for label in primary], groups.question


def _count_users(grouped: Grouped, group: str) -> int:
    """Return how many users have a value from any model in a group."""
    columns = grouped.values.get(group, {}).values()
    defined = np.logical_or.reduce([~np.isnan(column) for column in columns])
    if grouped.clusters is None:
        return int(defined.sum())
    return len(np.unique(grouped.clusters.user[defined]))
