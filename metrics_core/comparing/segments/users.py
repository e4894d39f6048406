"""Users in groups: by their interactions in the train, or by a column that says something of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.checking.relations import Table, scan, schema, whole
from concord.metrics_core.checking.settings import Settings
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.evidence.segmentations import (
    ByActivity,
    ByColumn,
    unknown_column,
)
from concord.metrics_core.comparing.segments.grouped import Grouped, split, up_to
from concord.metrics_core.metrics.catalogue import Label

MOST_VALUES = 12  # of a column without edges
UNKNOWN = "not known"


@dataclass(frozen=True)
class UserGroups:
    """`of_user` numbers the group of each user."""

    question: str
    names: list[str]
    of_user: NDArray[np.int64]

    def grouped(self, evidence: Evidence, label: Label) -> Grouped:
        """Return the users' values of a label in each group."""
        aligned, pinned = evidence.aligned, evidence.asked.conventions
        values = aligned.values(str(label), label.conventions(pinned).undefined)
        of_groups = split(values, self.names, self.of_user)
        return Grouped(
            str(label), label, of_groups, aligned.whose(label, pinned), label.bounds(pinned)
        )


def user_groups(evidence: Evidence, name: str, segmentation: ByActivity | ByColumn) -> UserGroups:
    """The groups of the users who are compared; nobody is left out.

    Raises
    ------
    InputError : there is no such column, its values are too many, or no numbers where edges cut them
    """
    ground, users = evidence.ground, evidence.aligned.owners
    if isinstance(segmentation, ByActivity):
        assert ground.train is not None, "refused before"
        return _by_activity(ground.train, segmentation, users)
    assert ground.users is not None, "refused before"
    return _by_column(evidence.asked.settings, ground.users, name, segmentation, users)


def refuse_unknown_column(
    settings: Settings, known: Table, name: str, segmentation: ByColumn
) -> None:
    """Raises an InputError where the users' table lacks the column."""
    columns = [column for column in schema(known) if column != "user"]
    if segmentation.column not in columns:
        raise refuse(
            settings.place(f"segments.{name}"), *unknown_column(segmentation.column, columns)
        )


def _by_activity(train: Table, segmentation: ByActivity, users: pl.Series) -> UserGroups:
    counts = scan(train).group_by(pl.col("user").cast(pl.String)).len().collect()
    found = _joined(users, counts)["len"].fill_null(0).to_numpy()
    names = up_to(segmentation.edges)
    return UserGroups(
        "Does it depend on how much is known of a user? Users by interactions in train.",
        names,
        np.searchsorted(segmentation.edges, found, side="left"),
    )


def _by_column(
    settings: Settings, known: Table, name: str, segmentation: ByColumn, users: pl.Series
) -> UserGroups:
    column = segmentation.column
    refuse_unknown_column(settings, known, name, segmentation)
    table, where = whole(known), settings.place(f"segments.{name}")
    question = f"Does it depend on the {column} of a user?"
    # As series: a name such as `^.*$` would be a pattern.
    columns = [table["user"].cast(pl.String), table[column].alias("value")]
    values = _joined(users, pl.DataFrame(columns))["value"]
    if segmentation.edges is not None:
        return _cut(where, question, values, segmentation.edges)
    texts = values.cast(pl.String).fill_null(UNKNOWN)
    names = sorted(texts.unique().to_list(), key=lambda text: (text == UNKNOWN, text))
    if len(names) > MOST_VALUES:
        what = f"{column!r} has {len(names):,} different values, too many for groups"
        raise refuse(where, what, "cut a number with `edges:`, or write a coarser column")
    place = {text: number for number, text in enumerate(names)}
    return UserGroups(question, names, np.array([place[text] for text in texts.to_list()]))


def _cut(where: str, question: str, values: pl.Series, edges: Sequence[float]) -> UserGroups:
    numbers = values.cast(pl.Float64, strict=False)
    wrong = values.filter(numbers.is_null() & values.is_not_null())
    if len(wrong):
        what = f"{wrong[0]!r} is no number, so `edges` cannot cut it"
        raise refuse(where, what, "remove `edges:`, or mend the column")
    ends = [_exactly(edge) for edge in edges]
    names = [f"up to {ends[0]}"]
    names += [f"over {low} to {high}" for low, high in pairwise(ends)]
    names += [f"over {ends[-1]}"]
    missing = numbers.is_null() | numbers.is_nan()
    places = np.searchsorted(edges, numbers.fill_null(0).to_numpy(), side="left")
    places[missing.to_numpy()] = len(names)
    return UserGroups(question, [*names, *[UNKNOWN][: int(missing.any())]], places)


def _exactly(edge: float) -> str:
    """The shortest text that gives the number back, whole numbers in full: groups are told apart by their names."""
    return str(int(edge)) if edge.is_integer() else repr(edge)


def _joined(users: pl.Series, known: pl.DataFrame) -> pl.DataFrame:
    """What is known of each user, in the users' order; ids of different types meet as decimal text."""
    asked = users.cast(pl.String).to_frame("user")
    return asked.join(known, on="user", how="left", maintain_order="left")
