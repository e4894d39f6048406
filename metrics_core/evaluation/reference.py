"""Chance, most popular items and best possible lists: means that need no model."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.evaluation.accumulator import summarise_column
from concord.metrics_core.evaluation.listable_items import ListableItems, TruthBlock
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.reference_lists import (
    Columns,
    best_columns,
    conventions_of_full_rankings,
    distinct_users,
    drawn_columns,
    group_by_threshold,
    is_supported,
    lowest_relevant,
    popular_columns,
    random_columns,
    with_two_grades,
)
from concord.metrics_core.evaluation.summary import (
    CONFIDENCE,
    Totals,
    compute_totals,
    summary_from_totals,
)
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.label import Label, in_report_order
from concord.metrics_core.results.reference import Kind, Reference, ReferenceHits, References
from concord.metrics_core.stats.floating_point import exact_sum_of_blocks


def compute_references(
    labels: Sequence[Label],
    conventions: Conventions,
    data: EvaluationData,
    *,
    lists_unknown_items: bool = False,
) -> References | None:
    """Return chance, most popular items and best possible lists of the labels that have them.

    Parameters
    ----------
    labels : sequence of Label
        Labels of the comparison.
    conventions : Conventions
        The pinned conventions.
    data : EvaluationData
        Ground truth and side data.
    lists_unknown_items : bool
        True if lists may hold items that the catalogue lacks.

    Returns
    -------
    References or None
        None if folds have different ground truths, under a propensity (sums then count users who
        are known from lists only), or if no label has references.
    """
    own = {
        label: conventions_of_full_rankings(label, conventions)
        for label in in_report_order(labels)
        if is_supported(label, conventions)
    }
    if data.folds or conventions.propensity is not None or not own:
        return None
    items = ListableItems(data, conventions, lists_unknown_items)
    pool = conventions.candidates
    has_chance = items.is_known or pool is not None
    means, counts = _Means(conventions), []
    for number, block in enumerate(items.blocks()):
        n_items = block.n_items
        if pool is not None:  # all relevant items are candidates, and in a full ranking
            n_items = np.full(block.n_users, pool["negatives"] + 1)
            all_items = np.full(block.n_users, pool["catalogue"])
            block = replace(block, listable=np.ones_like(block.listable), n_items=all_items)
        relevant = block.listable & (block.grade >= lowest_relevant(conventions))
        n_relevant = np.bincount(block.user[relevant], minlength=block.n_users)
        counts.append((n_relevant, n_items))
        others = dict(own)
        for lowest, group in group_by_threshold(own).items():
            kinds, kind = distinct_users(with_two_grades(block, lowest))
            means.add("best_possible", best_columns(kinds, group), block, kind)
            if has_chance:
                expected = random_columns(kinds, group)
                means.add("chance", expected, block, kind)
                others = {label: each for label, each in others.items() if label not in expected}
        every = np.arange(block.n_users)
        if has_chance:
            means.add("chance", drawn_columns(block, others, seed=number), block, every)
        if data.train is not None:
            means.add("most_popular", popular_columns(block, own), block, every)
        means.n_blocks += 1
    cutoffs = sorted({label.k for label in own if label.k is not None})
    return References(
        values=tuple(
            Reference(
                str(label),
                chance=means.mean("chance", label),
                most_popular=means.mean("most_popular", label),
                best_possible=means.mean("best_possible", label),
            )
            for label in own
        ),
        hits=tuple(_hits(k, counts, has_chance=has_chance) for k in cutoffs),
        repeats=bool(items.repeats),
    )


@dataclass
class _Means:
    """Means over the users of all blocks, by kind of list and label."""

    conventions: Conventions
    n_blocks: int = 0
    totals: dict[tuple[Kind, Label], Totals] = field(default_factory=dict)
    frames: dict[tuple[Kind, Label], list[pl.DataFrame]] = field(
        default_factory=lambda: defaultdict(list)
    )
    counts: Counter[tuple[Kind, Label]] = field(default_factory=Counter)

    def add(self, name: Kind, columns: Columns, block: TruthBlock, kind: Ints) -> None:
        """Add the values of a block's users; `kind` is the row of each user's value."""
        for label, column in columns.items():
            values, counted = column.values[kind], ~column.excluded[kind]
            self.counts[name, label] += 1
            if self.conventions.unit_mean is not None:
                frame = pl.DataFrame({"user": block.users, str(label): values})
                self.frames[name, label].append(frame.filter(pl.Series(counted)))
                continue
            undefined = label.conventions(self.conventions).undefined
            bounds = label.bounds(self.conventions)
            totals = compute_totals(values[counted], (), undefined, bounds)
            before = self.totals.get((name, label))
            self.totals[name, label] = totals if before is None else before + totals

    def mean(self, name: Kind, label: Label) -> float | None:
        """Return the mean of a label; None unless all blocks have values."""
        if not self.counts[name, label] or self.counts[name, label] < self.n_blocks:
            return None
        if frames := self.frames.get((name, label)):
            return summarise_column(
                pl.concat(frames), str(label), label, self.conventions, confidence=CONFIDENCE
            ).mean
        totals = self.totals[name, label]
        return summary_from_totals(label, totals, [], self.conventions, confidence=CONFIDENCE).mean


def _hits(k: int, counts: Sequence[tuple[Ints, Ints]], *, has_chance: bool) -> ReferenceHits:
    """Return hits from the numbers of relevant and of all items that lists can hold, by block."""
    expected = (n * (np.minimum(k, n_items) / np.maximum(n_items, 1)) for n, n_items in counts)
    chance = exact_sum_of_blocks(expected) if has_chance else None
    return ReferenceHits(k, chance, float(sum(np.minimum(k, n).sum() for n, _ in counts)))
