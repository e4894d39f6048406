"""Example users and items of an error analysis, with their values, lists and ground truth."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa

from concord.metrics_core.analyses.cases.result import (
    ExampleUser,
    ItemDifference,
    JudgedItem,
    MetricValues,
    RankedItem,
)
from concord.metrics_core.analyses.cases.tables import SIDES, Row, Tables
from concord.metrics_core.comparison.segment_groups import UserGroups
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.evaluation.block import Block
from concord.metrics_core.evaluation.derivation import read_user, select_user, steps
from concord.metrics_core.evaluation.join_truth import join_truth
from concord.metrics_core.evaluation.side_data import SideData
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.judged import Bools, Floats, Ints
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.metric import DerivationInput

MAX_RANKS = 10  # hits in a reason


@dataclass(frozen=True)
class PairValues:
    """Per-user values of two models.

    Attributes
    ----------
    users : polars.Series
        User ids.
    labels : list of Label
        Labels; users are sorted by the first.
    conventions : Conventions
        Conventions of the values.
    by_label : mapping of str to ((users,) float64, (users,) float64)
        Values of a and of b for each label; NaN if undefined.
    """

    users: pl.Series
    labels: list[Label]
    conventions: Conventions
    by_label: Mapping[str, tuple[Floats, Floats]]

    @cached_property
    def differences(self) -> Floats:
        """(users,) a - b on the first label."""
        values_a, values_b = self.by_label[str(self.labels[0])]
        return values_a - values_b

    @cached_property
    def gains(self) -> Floats:
        """(users,) a's gain on the first label: negative where a is worse."""
        return self.differences if self.labels[0].metric.higher_is_better else -self.differences

    def select(self, pool: Bools, n: int, *, ahead: bool = False) -> Ints:
        """Return the numbers of n users of a pool: largest losses (or gains) first, ties by id."""
        numbers = np.flatnonzero(pool)
        users = self.users.gather(numbers).cast(pl.String)
        frame = pl.DataFrame({"gain": self.gains[numbers], "user": users, "number": numbers})
        return frame.sort("gain", "user", descending=[ahead, False]).head(n)["number"].to_numpy()

    def threshold(self, label: Label) -> float | None:
        """Return the smallest relevant grade; None if the metric has no threshold."""
        if not label.metric.uses_relevance:
            return None
        return label.conventions(self.conventions).relevance_threshold

    def is_relevant(self, grade: float, label: Label) -> bool:
        """True if the metric counts the grade as relevant."""
        threshold = self.threshold(label)
        return threshold is None or grade >= threshold


@dataclass(frozen=True)
class ExampleBuilder:
    """Builder of the example users that are selected in `tables`.

    Attributes
    ----------
    values : PairValues
        Values of both models.
    tables : Tables
        Lists, ground truth, train and items.
    background : SideData
        Side data of the evaluation.
    segments : mapping of str to UserGroups
        Segments of each segmentation.
    overlap : mapping of str to (users,) float64
        `jaccard` and `rbo` of the users' lists.
    """

    values: PairValues
    tables: Tables
    background: SideData
    segments: Mapping[str, UserGroups]
    overlap: Mapping[str, Floats]

    def build(self, numbers: Ints) -> Iterator[ExampleUser]:
        """Yield the example users in the order of their numbers."""
        judged, n_train = self.tables.judged(), self.tables.n_train()
        lists = [self.tables.ranked_items(side) for side in SIDES]
        items = _column(judged, 0).union(*(_column(rows, 1) for rows in lists))
        titles = self.tables.titles(sorted(items))
        users = self.values.users.gather(numbers).cast(pl.String).to_list()
        for number, user in zip(numbers.tolist(), users, strict=True):
            list_a, list_b = (
                tuple(self._ranked(row, titles) for row in rows.get(number, [])) for rows in lists
            )
            yield ExampleUser(
                user=user,
                difference=float(self.values.differences[number]),
                n_train=None if n_train is None else n_train.get(number, 0),
                segments={
                    name: groups.names[groups.group_numbers[number]]
                    for name, groups in self.segments.items()
                },
                metric_values=tuple(
                    self._metric_values(x, number, user) for x in self.values.labels
                ),
                judged=tuple(self._judged(row, titles) for row in judged.get(number, [])),
                list_a=list_a,
                list_b=list_b,
                jaccard=float(self.overlap["jaccard"][number]),
                rbo=float(self.overlap["rbo"][number]),
            )

    @cached_property
    def _reasons(self) -> dict[tuple[str, str], dict[str, str]]:
        """Reason of each user's value, by label and side."""
        truth = self.tables.rows_of_examples("truth")
        rows = {side: self.tables.rows_of_examples(f"all_{side}") for side in SIDES}
        task = Task(self.values.labels, self.values.conventions)
        item_columns = self.background.with_item_columns(task).item_columns
        return {
            (str(label), side): compute_reasons(
                rows[side], truth, label, self.values.conventions, item_columns
            )
            for label in self.values.labels
            for side in SIDES
        }

    def _metric_values(self, label: Label, number: int, user: str) -> MetricValues:
        text = str(label)
        value_a, value_b = (float(side[number]) for side in self.values.by_label[text])
        reason_a, reason_b = (self._reasons[text, side].get(user, "") for side in SIDES)
        return MetricValues(text, value_a, value_b, reason_a, reason_b)

    def _judged(self, row: Row, titles: Mapping[str, str]) -> JudgedItem:
        item, grade, rank_a, rank_b = row
        labels = self.values.labels
        below = tuple(str(label) for label in labels if not self.values.is_relevant(grade, label))
        relevant = self.values.is_relevant(grade, labels[0])
        return JudgedItem(item, titles.get(item), grade, relevant, below, rank_a, rank_b)

    def _ranked(self, row: Row, titles: Mapping[str, str]) -> RankedItem:
        rank, item, grade = row
        relevant = grade is not None and self.values.is_relevant(grade, self.values.labels[0])
        return RankedItem(rank, item, titles.get(item), grade, relevant)


def item_difference(row: Row, titles: Mapping[str, str], n_users: int) -> ItemDifference:
    """Return recall and exposure of an item from its counts among n users."""
    item, n_relevant, hits_a, hits_b, lists_a, lists_b = row
    return ItemDifference(
        item=item,
        title=titles.get(item),
        n_relevant=n_relevant,
        hits_a=hits_a,
        hits_b=hits_b,
        recall_a=hits_a / n_relevant if n_relevant else None,
        recall_b=hits_b / n_relevant if n_relevant else None,
        shown_a=lists_a,
        shown_b=lists_b,
        exposure_a=lists_a / n_users,
        exposure_b=lists_b / n_users,
    )


def _column(rows: Mapping[int, list[Row]], index: int) -> set[str]:
    return {row[index] for user_rows in rows.values() for row in user_rows}


def compute_reasons(
    lists: pl.DataFrame,
    truth: pl.DataFrame,
    label: Label,
    conventions: Conventions,
    item_columns: pa.Table | None,
) -> dict[str, str]:
    """Return the reason of each user's value: ranks of the hits, and last line of the derivation.

    Parameters
    ----------
    lists, truth : polars.DataFrame
        Ranked lists and ground truth of the users.
    label : Label
        Label of the values.
    conventions : Conventions
        Conventions of the values.
    item_columns : pyarrow.Table or None
        Propensities of items, if the conventions need them.

    Returns
    -------
    dict of str to str
        Reason of each user; empty for metrics beyond accuracy.
    """
    if label.metric.family == "beyond":
        return {}
    label_conventions = label.conventions(conventions)
    if "ranking" in lists.columns:
        number = label.ranking_number(conventions)
        lists = lists.filter(pl.col("ranking") == number).drop("ranking")
    task = Task([label], label_conventions, item_columns=item_columns)
    judged = join_truth(Block.from_tables(lists.to_arrow(), truth.to_arrow()), task)
    return {
        str(user): _reason(read_user(select_user(judged, number), label, label_conventions), label)
        for number, user in enumerate(judged.users.tolist())
    }


def _reason(one: DerivationInput, label: Label) -> str:
    return one.policy or "; ".join([_hits(one), *steps(one, label).lines[-1:]])


def _hits(one: DerivationInput) -> str:
    if not one.ranks:
        return "no hit" if one.k is None else f"no hit in the top {one.k}"
    ranks = ", ".join(map(str, one.ranks[:MAX_RANKS]))
    more = f" and {len(one.ranks) - MAX_RANKS} more" if len(one.ranks) > MAX_RANKS else ""
    return f"hit{'s' * (len(one.ranks) > 1)} at {ranks}{more}"
