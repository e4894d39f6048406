"""The chosen users and items with all that is told of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from concord.metrics_core.cases.seen import reasons
from concord.metrics_core.cases.tables import SIDES, Row, Tables
from concord.metrics_core.cases.values import Values
from concord.metrics_core.comparing.segments.users import UserGroups
from concord.metrics_core.comparison.cases import Case, ItemCase, JudgedItem, ListedItem, Seen
from concord.metrics_core.comparison.parts import or_none
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.scoring.background import Background
from concord.metrics_core.scoring.partition import Task


@dataclass(frozen=True)
class Teller:
    """What tells of users whom `tables` have chosen.

    groups : segmentation -> its groups
    alike  : `jaccard` and `rbo` -> (users,) values
    """

    values: Values
    tables: Tables
    background: Background
    groups: Mapping[str, UserGroups]
    alike: Mapping[str, Floats]

    def cases(self, chosen: Ints) -> Iterator[Case]:
        """One a user, in this order."""
        judged, n_train = self.tables.judged(), self.tables.n_train()
        lists = [self.tables.listed(side) for side in SIDES]
        titles = self.tables.titles(sorted(_items(judged, 0).union(*(_items(of, 1) for of in lists))))  # fmt: skip
        users = self.values.users.gather(chosen).cast(pl.String).to_list()
        for number, user in zip(chosen.tolist(), users, strict=True):
            list_a, list_b = (
                tuple(self._listed(row, titles) for row in of.get(number, [])) for of in lists
            )
            yield Case(
                user=user,
                difference=float(self.values.differences[number]),
                n_train=None if n_train is None else n_train.get(number, 0),
                segments={name: of.names[of.of_user[number]] for name, of in self.groups.items()},
                seen=tuple(self._seen(label, number, user) for label in self.values.labels),
                judged=tuple(self._judged(row, titles) for row in judged.get(number, [])),
                list_a=list_a,
                list_b=list_b,
                jaccard=or_none(float(self.alike["jaccard"][number])),
                rbo=or_none(float(self.alike["rbo"][number])),
            )

    @cached_property
    def _why(self) -> dict[tuple[str, str], dict[str, str]]:
        """(label, side) -> user -> how the value came about."""
        truth = self.tables.own("truth")
        rows = {side: self.tables.own(f"all_{side}") for side in SIDES}
        task = Task(self.values.labels, self.values.conventions)
        shelf = self.background.shelved(task).shelf
        return {
            (str(label), side): reasons(rows[side], truth, label, self.values.conventions, shelf)
            for label in self.values.labels
            for side in SIDES
        }

    def _seen(self, label: Label, number: int, user: str) -> Seen:
        text = str(label)
        value_a, value_b = (or_none(float(of[number])) for of in self.values.of_both[text])
        reason_a, reason_b = (self._why[text, side].get(user, "") for side in SIDES)
        return Seen(text, value_a, value_b, reason_a, reason_b)

    def _judged(self, row: Row, titles: Mapping[str, str]) -> JudgedItem:
        item, grade, rank_a, rank_b = row
        first, *_ = labels = self.values.labels
        below = tuple(str(each) for each in labels if not self.values.reaches(grade, each))
        relevant = self.values.reaches(grade, first)
        return JudgedItem(item, titles.get(item), grade, relevant, below, rank_a, rank_b)

    def _listed(self, row: Row, titles: Mapping[str, str]) -> ListedItem:
        rank, item, grade = row
        relevant = grade is not None and self.values.reaches(grade, self.values.labels[0])
        return ListedItem(rank, item, titles.get(item), grade, relevant)


def item_case(row: Row, titles: Mapping[str, str], n_users: int) -> ItemCase:
    """Recall and exposure of an item among so many users."""
    item, n_wanted, found_a, found_b, shown_a, shown_b = row
    return ItemCase(
        item=item,
        title=titles.get(item),
        n_wanted=n_wanted,
        found_a=found_a,
        found_b=found_b,
        recall_a=found_a / n_wanted if n_wanted else None,
        recall_b=found_b / n_wanted if n_wanted else None,
        shown_a=shown_a,
        shown_b=shown_b,
        exposure_a=shown_a / n_users,
        exposure_b=shown_b / n_users,
    )


def _items(rows: Mapping[int, list[Row]], place: int) -> set[str]:
    return {row[place] for of_user in rows.values() for row in of_user}
