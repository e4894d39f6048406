"""The segments of comparison.json: one entry a segmentation of params.yaml."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from metrics_core.metrics.catalogue import is_pooled
from metrics_core.statistics.bootstrap import interval, weighted_means
from metrics_core.statistics.paired import Column
from pipeline.comparing.aligned import Aligned
from pipeline.comparing.choices import Choices
from pipeline.comparing.segments.cells import cell_rows
from pipeline.comparing.segments.flags import flags
from pipeline.comparing.segments.grouped import Grouped, split
from pipeline.comparing.segments.items import QUESTIONS, item_groups
from pipeline.comparing.segments.users import UserGroups, user_groups
from pipeline.params.model import ByPopularity, Params

Row = dict[str, Any]

# Users of a group that a gap may be taken from. The extremes are picked, so tiny groups would be; simulated coverage
# of the 95 % interval (benchmarks/SIMULATIONS.md): 0.89 with 5 users in the smaller group, 0.94 with 30.
FEWEST_IN_GAP = 30


def segment_rows(
    params: Params, choices: Choices, aligned: Aligned, differences: Sequence[Row]
) -> list[Row]:
    """Every segmentation that params.yaml names, in its order."""
    overall = {(d["label"], d["a"]): d for d in differences if d["vs_baseline"]}
    rows = []
    for name, segmentation in params.segments.items():
        if isinstance(segmentation, ByPopularity):
            k = choices.main_k
            labels = [] if k is None else [item_groups(params, segmentation, aligned, k)]
            question = QUESTIONS[segmentation.by]
        else:
            groups = user_groups(params, name, segmentation, aligned.users)
            labels, question = _in_groups(params, choices, aligned, groups), groups.question
        cells = cell_rows(params, choices, labels, overall)
        rows.append(
            {
                "name": name,
                "kind": segmentation.by if isinstance(segmentation, ByPopularity) else "user",
                "question": question,
                "labels": [grouped.text for grouped in labels],
                "segments": _segments(labels),
                "cells": cells,
                "fewest_in_gap": FEWEST_IN_GAP,
                "gaps": [gap for grouped in labels for gap in _gaps(params, grouped)],
                "flags": flags(name, cells, overall, params.comparison.baseline),
            }
        )
    return rows


def _in_groups(
    params: Params, choices: Choices, aligned: Aligned, groups: UserGroups
) -> list[Grouped]:
    """The primary labels that are means over users, in each group."""
    found = []
    for label in choices.of_primary:
        if not is_pooled(label, params.pinned):
            undefined = label.conventions(params.pinned).undefined
            values = aligned.values(str(label), undefined)
            found.append(Grouped(str(label), label, split(values, groups.names, groups.of_user)))
    return found


def _segments(labels: Sequence[Grouped]) -> list[Row]:
    """The groups and the users in them: those with a value from any model."""
    groups = dict.fromkeys(group for grouped in labels for group in grouped.values)
    return [
        {"name": group, "n_users": max(_users(grouped, group) for grouped in labels)}
        for group in groups
    ]


def _users(grouped: Grouped, group: str) -> int:
    columns = grouped.values.get(group, {}).values()
    return int(np.logical_or.reduce([~np.isnan(column) for column in columns]).sum())


def _gaps(params: Params, grouped: Grouped) -> list[Row]:
    """Largest minus smallest mean of a group of enough users, each model; none where fewer than two groups have them.

    The interval is by bootstrap, with the groups held fixed.
    """
    comparison = params.comparison
    rows = []
    for model in next(iter(grouped.values.values()), {}):
        columns = {group: Column(of_models[model]) for group, of_models in grouped.values.items()}
        means = {g: column.mean for g, column in columns.items() if column.n_defined >= FEWEST_IN_GAP}  # fmt: skip
        if len(means) < 2:  # noqa: PLR2004 - a gap is between two
            continue
        low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        both = np.column_stack([columns[high].values, columns[low].values])
        samples = weighted_means(both, resamples=comparison.resamples, seed=comparison.seed)
        ends = interval(samples[:, 0] - samples[:, 1], comparison.confidence)
        rows.append(
            {
                "label": grouped.text,
                "model": model,
                "low_segment": low,
                "high_segment": high,
                "gap": means[high] - means[low],
                "ci_low": ends[0],
                "ci_high": ends[1],
            }
        )
    return rows
