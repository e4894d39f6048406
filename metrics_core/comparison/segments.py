"""Compute differences within each segment, and gaps between segments."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import Effect, is_share, margin_interval
from concord.metrics_core.comparison.segment_groups import (
    QUESTIONS,
    GroupValues,
    group_items,
    group_users,
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
    or_nan,
)
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS
from concord.metrics_core.stats.adjustment import benjamini_hochberg
from concord.metrics_core.stats.bootstrap import bootstrap_p, percentile_interval, weighted_means
from concord.metrics_core.stats.floating_point import differences as rounded_differences
from concord.metrics_core.stats.paired_difference import UNTESTED, PairedTest
from concord.metrics_core.stats.paired_test import UserValues, paired_tests
from concord.metrics_core.stats.simultaneous import discovery_alpha
from concord.metrics_core.stats.verdict import verdict


@dataclass(frozen=True)
class _CellTest:
    """A model in a group, and its test against the baseline."""

    group_values: GroupValues
    segment: str
    model: str
    column: UserValues
    paired: PairedTest


def _segment_cells(
    inputs: ComparisonInput,
    labels: Iterable[GroupValues],
    overall: Mapping[tuple[str, str], Difference],
) -> list[SegmentCell]:
    """Return one cell per label, group and model.

    p-values are adjusted by Benjamini and Hochberg over all cells, and all intervals of
    differences have the level that belongs to the number of their findings.

    Parameters
    ----------
    overall : dict
        (label, model) -> difference to the baseline over all users, whose sign a group may reverse.
    """
    tests = [test for each in labels for test in _cell_tests(inputs, each)]
    p = np.array([test.paired.p for test in tests], dtype=np.float64)
    alpha = discovery_alpha(p, inputs.config.alpha)
    return [
        _build_cell(inputs, test, p_adjusted, alpha, overall)
        for test, p_adjusted in zip(tests, benjamini_hochberg(p).tolist(), strict=True)
    ]


def _cell_tests(inputs: ComparisonInput, group_values: GroupValues) -> Iterator[_CellTest]:
    config = inputs.config
    for segment, values in group_values.values.items():
        others = [model for model in values if model != config.baseline]
        results = paired_tests(
            values,
            [(model, config.baseline) for model in others],
            confidence=config.confidence,
            clusters=group_values.clusters,
            bounds=group_values.bounds,
            unlisted=inputs.unlisted,
            share_of=config.baseline if is_share(_effect(config, group_values)) else None,
        )
        paired = dict(zip(others, results, strict=True))
        for model in values:
            column = group_values.column(segment, model)
            yield _CellTest(group_values, segment, model, column, paired.get(model, UNTESTED))


def _build_cell(
    inputs: ComparisonInput,
    test: _CellTest,
    p_adjusted: float,
    alpha: float,
    overall: Mapping[tuple[str, str], Difference],
) -> SegmentCell:
    config, without_list = inputs.config, inputs.without_list.get(test.model, False)
    low, high = test.column.interval(config.confidence)
    n_users = test.column.n_defined
    group_values, paired = test.group_values, test.paired
    is_tested = test.model != config.baseline
    pair = overall.get((group_values.text, test.model))
    has_other_sign = pair is not None and or_nan(pair.difference) * paired.difference < 0
    baseline = group_values.column(test.segment, config.baseline)
    interval, min_effect = margin_interval(
        paired, _effect(config, group_values), baseline.mean, 1 - alpha
    )
    return SegmentCell(
        label=group_values.text,
        segment=test.segment,
        model=test.model,
        mean=test.column.mean,
        ci_low=low,
        ci_high=high,
        n_users=n_users,
        difference=paired.difference,
        diff_low=interval[0],
        diff_high=interval[1],
        level=1 - alpha,
        n_nonzero=paired.n_nonzero if is_tested else None,
        p_adjusted=p_adjusted,
        verdict=verdict(
            paired,
            interval,
            alpha=alpha,
            min_effect=min_effect,
            higher_is_better=group_values.label.metric.higher_is_better,
        )
        if is_tested and group_values.label is not None
        else None,
        is_reversed=has_other_sign and (interval[0] > 0 or interval[1] < 0),
        n_without_list=group_values.count_users(test.segment, without_list) or None,
        n_with_both=paired.n_users if is_tested and paired.n_users != n_users else None,
    )


def _effect(config: ComparisonConfig, group_values: GroupValues) -> Effect:
    """Return the minimum relevant difference of the label, or else of the first primary label."""
    return config.min_effects.get(group_values.text, config.min_effects[config.primary[0]])


# Minimum number of users in a group for its gap to be computed. Tiny groups tend to have the
# extreme means.
# Simulated coverage of the 95 % interval (benchmarks/SIMULATIONS.md): 0.89 with 5 users in the
# smaller group, 0.94 with 30.
MIN_GAP_USERS = 30


def _compute_gaps(
    config: ComparisonConfig, labels: Sequence[GroupValues], *, compare: bool
) -> list[Gap]:
    """Return the gap of each label and model with two groups of enough users.

    Parameters
    ----------
    compare : bool
        True to add the ratio, and each model's gap minus that of the baseline.
        It is paired by resamples of the same users; p-values are adjusted by Benjamini and
        Hochberg over all gaps.
    """
    resampled = [(each, _resampled_gaps(config, each)) for each in labels]
    if not compare:
        return [replace(gap, ratio=None) for _, gaps in resampled for gap, _ in gaps.values()]
    gaps = [
        gap
        for group_values, model_gaps in resampled
        for gap in _compare_gaps(config, group_values, model_gaps)
    ]
    p = np.array([math.nan if gap.p is None else gap.p for gap in gaps], dtype=np.float64)
    return [
        replace(gap, p_adjusted=float(p_adjusted))
        for gap, p_adjusted in zip(gaps, benjamini_hochberg(p), strict=True)
    ]


def _resampled_gaps(
    config: ComparisonConfig, group_values: GroupValues
) -> dict[str, tuple[Gap, Floats]]:
    """Return model -> its gap, and the gap in each resample of the users.

    The gap is the largest minus the smallest mean of a group with enough users. Its interval is a
    bootstrap interval for these two groups. Resamples are the same for all models.
    """
    gaps, ends = {}, []
    for model in next(iter(group_values.values.values()), {}):
        columns = {group: group_values.column(group, model) for group in group_values.values}
        means = {
            group: column.mean
            for group, column in columns.items()
            if column.n_defined >= MIN_GAP_USERS
        }
        if len(means) < 2:  # noqa: PLR2004 - a gap is between two
            continue
        low, *_, high = sorted(means, key=means.__getitem__)  # two groups, also if all are equal
        ratio = means[low] / means[high] if means[high] > 0 else None
        names, size = (group_values.text, model, low, high), means[high] - means[low]
        gaps[model] = partial(Gap, *names, size, n_segments=len(means), ratio=ratio)
        ends += [columns[high].by_user, columns[low].by_user]
    if not gaps:
        return {}
    samples = weighted_means(np.column_stack(ends), resamples=config.resamples, seed=config.seed)
    resampled = {}
    for number, (model, gap) in enumerate(gaps.items()):
        gap_samples = samples[:, 2 * number] - samples[:, 2 * number + 1]
        ends_of_gap = percentile_interval(gap_samples, config.confidence)
        resampled[model] = gap(ci_low=ends_of_gap[0], ci_high=ends_of_gap[1]), gap_samples
    return resampled


def _compare_gaps(
    config: ComparisonConfig, group_values: GroupValues, gaps: Mapping[str, tuple[Gap, Floats]]
) -> Iterator[Gap]:
    """Yield each gap, with its difference to the gap of the baseline."""
    for model, (gap, samples) in gaps.items():
        if config.baseline not in gaps or model == config.baseline:
            yield gap
            continue
        baseline, baseline_samples = gaps[config.baseline]
        differences = samples - baseline_samples
        low, high = percentile_interval(differences, config.confidence)
        n_differing = _count_differing_users(group_values, model, config.baseline)
        yield replace(
            gap,
            difference=gap.gap - baseline.gap,
            diff_low=low,
            diff_high=high,
            p=bootstrap_p(differences) if n_differing >= MIN_DIFFERING_USERS else None,
        )


def _count_differing_users(group_values: GroupValues, a: str, b: str) -> int:
    """Return how many users have different values, or means of their requests, with two models."""
    differs: Bools | None = None
    for values in group_values.values.values():
        differences = rounded_differences(values[a], values[b])
        if group_values.clusters is not None:
            differences = group_values.clusters.means(differences)
        nonzero = np.nan_to_num(differences) != 0
        differs = nonzero if differs is None else differs | nonzero
    return 0 if differs is None else int(np.count_nonzero(differs))


def compute_segments(
    inputs: ComparisonInput, differences: Sequence[Difference]
) -> Iterator[parts.Segmentation]:
    """Yield the segmentations in the order of the configuration."""
    config = inputs.config
    overall = {(pair.label, pair.a): pair for pair in differences if pair.vs_baseline}
    for name, segmentation in config.segments.items():
        labels, question = _label_values(inputs, name, segmentation)
        groups = dict.fromkeys(group for each in labels for group in each.values)
        yield parts.Segmentation(
            name=name,
            kind=segmentation.by if isinstance(segmentation, ByPopularity) else "user",
            shares=segmentation.shares if isinstance(segmentation, ByPopularity) else None,
            question=question,
            labels=tuple(each.text for each in labels),
            segments=tuple(
                Segment(group, max(each.count_users(group) for each in labels)) for group in groups
            ),
            cells=tuple(_segment_cells(inputs, labels, overall)),
            fewest_in_gap=MIN_GAP_USERS,
            gaps=tuple(_compute_gaps(config, labels, compare=segmentation.compare_gaps)),
        )


def compute_segment_cells(inputs: ComparisonInput, name: str) -> list[parts.SegmentCell]:
    """Return the cells of one segmentation, without those over all users."""
    labels, _ = _label_values(inputs, name, inputs.config.segments[name])
    return _segment_cells(inputs, labels, {})


def _label_values(
    inputs: ComparisonInput, name: str, segmentation: Segmentation
) -> tuple[list[GroupValues], str]:
    """Return the values of each label by group, and the question that the groups answer.

    Groups of users have the primary labels that are means over users; groups of items have recall
    or shares at the main cutoff.
    """
    config = inputs.config
    if isinstance(segmentation, ByPopularity):
        k = config.main_cutoff
        labels = [] if k is None else [group_items(inputs, segmentation, k)]
        return labels, QUESTIONS[segmentation.by]
    groups = group_users(inputs, name, segmentation)
    primary = [x for x in config.primary_labels if not is_pooled(x, config.conventions)]
    return [groups.values(inputs, label) for label in primary], groups.question
