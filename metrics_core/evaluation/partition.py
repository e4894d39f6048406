"""Evaluate one partition of users, from relations to values; every executor runs this."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Conventions, Ranking
from concord.metrics_core.errors import Refusal, ScoringError, escape_template
from concord.metrics_core.evaluation.diagnostics import (
    FOUND,
    KNOWN,
    LISTED,
    RELEVANT,
    ListKind,
    ListSigns,
    weight_columns,
)
from concord.metrics_core.evaluation.judge import PROPENSITY, judge
from concord.metrics_core.evaluation.listing import listed
from concord.metrics_core.evaluation.panel import Definition
from concord.metrics_core.evaluation.score import Column, mean_weight, score, uncomputable
from concord.metrics_core.metrics.exposure import Exposure, count_exposure
from concord.metrics_core.metrics.items import Items
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.ranked_lists import RankedLists

Some = TypeVar("Some")


def put_range(connection: DuckDBPyConnection, names: Iterable[str], low: Any, high: Any) -> None:
    """Create view `name`: the rows of `all_name` of the users from `low` on and before `high`; None is no bound.

    A range is a table: a join is planned by its size, and a file is opened once for all that is asked of it.
    """
    bounds = {"user >= $low": low, "user < $high": high}
    within = {bound: user for bound, user in bounds.items() if user is not None}
    parameters = {bound.rpartition("$")[2]: user for bound, user in within.items()}
    for name in names:
        source = f"all_{name}"
        if within:
            query = f"SELECT * FROM {source} WHERE {' AND '.join(within)}"
            source = f"{name}_here"
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {source} AS {query}", parameters)
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM {source}")


def one_ahead(parts: Iterator[Some]) -> Generator[Some]:
    """Compute the next part while one is used; when closed, wait for the one that is computed, and close `parts`."""
    try:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(next, parts, None)
            while (part := future.result()) is not None:
                future = pool.submit(next, parts, None)
                yield part
    finally:
        if isinstance(parts, Generator):
            parts.close()


HIGHEST_EXPONENT = 30  # 2^30 is a thousand million: a higher grade is a rating or a count


@dataclass(frozen=True)
class Task:
    """What is computed for every partition."""

    labels: Sequence[Label]
    conventions: Conventions
    only_known: bool = False  # users are named: leave out all others, whatever the policy
    definitions: Sequence[Definition] = ()  # of the convention panel, without the pinned ones
    items: Items | None = None  # what is known of the items, for metrics beyond accuracy
    shelf: pa.Table | None = (
        None  # item as text, and the numbers of the catalogue that metrics read
    )

    @property
    def cutoffs(self) -> list[int]:
        """All cutoffs of the labels, ascending."""
        return sorted({label.k for label in self.labels if label.k is not None})

    @property
    def per_user(self) -> list[Label]:
        """The labels that have a value for each user."""
        return [label for label in self.labels if not label.metric.is_aggregate]

    @property
    def columns(self) -> dict[str, tuple[Label, Conventions]]:
        """Column of users' values -> its label, and the conventions under which it is computed."""
        labels = {str(label): (label, self.conventions) for label in self.per_user}
        return labels | {d.column: (d.label, d.conventions) for d in self.definitions}

    @property
    def mean_weights(self) -> dict[str, float | None]:
        """Column of what users count in means -> the grade from which on items are relevant; nothing where all count alike."""
        named = (
            (mean_weight(label, conventions), label.conventions(conventions).relevance_threshold)
            for label, conventions in self.columns.values()
        )
        return {name: least for name, least in named if name is not None}

    @property
    def needs_items(self) -> bool:
        """True if any label reads whole lists and features of their items."""
        labels = [*self.labels, *(definition.label for definition in self.definitions)]
        return any(label.metric.family == "beyond" for label in labels)

    @property
    def numbers(self) -> list[str]:
        """The numbers of the catalogue that its metrics read."""
        of_labels = [name for label in self.labels for name in label.metric.columns]
        of_items = (self.conventions.propensity or {}).get("column") == "items"
        return list(dict.fromkeys([*of_labels, *([PROPENSITY] if of_items else [])]))

    def ranking_of(self, label: Label) -> Ranking:
        """How the lists are ranked for a label."""
        return label.conventions(self.conventions).ranking


@dataclass(frozen=True)
class PartCounts:
    """Counts of users by name, as `count_users` returns them, and of lists by kind."""

    users: Mapping[str, int]
    lists: Mapping[ListKind, int]


@dataclass(frozen=True)
class Part:
    """What a partition gives: `values` of its users, and by label what its lists show of the items.

    signs  : counts of its lists, where an executor has to count them because it does not keep the lists
    counts : of users and lists, where an executor has counted them
    """

    values: pl.DataFrame
    exposures: Mapping[str, Exposure]
    signs: ListSigns | None = None
    counts: PartCounts | None = None


def joined(parts: Sequence[Part]) -> Part:
    """What parts of other users each give together."""
    values = pl.concat(
        [part.values for part in parts], how="vertical_relaxed"
    )  # a part may hold nobody
    labels = parts[0].exposures
    added = {label: reduce(add, (part.exposures[label] for part in parts)) for label in labels}
    return Part(values, added)


def evaluate_partition(connection: DuckDBPyConnection, task: Task) -> Part:
    """Return the values of the users of a connection's relations; see `score_partition`."""
    return score_partition(judge_partition(connection, task), task, connection)


def judge_partition(connection: DuckDBPyConnection, task: Task) -> dict[int, Judged]:
    """Return number of a ranking -> its lists, for the first ranking and those that labels need."""
    labels = [*task.labels, *(definition.label for definition in task.definitions)]
    needed = {task.ranking_of(label) for label in labels}
    return {
        number: judge(
            connection,
            only_known=task.only_known,
            ranking=ranking,
            number=number,
            shelf=task.shelf,
            propensity=task.conventions.propensity,
        )
        for number, ranking in enumerate(task.conventions.rankings)
        if not number or ranking in needed
    }


def score_partition(
    ranked: Mapping[int, Judged], task: Task, connection: DuckDBPyConnection | None = None
) -> Part:
    """The values have one row a user, by user: the labels (NaN undefined, null left out), then columns that start with `#`.

    `#known`, `#listed`, `#relevant`, `#found`: is the user in the truth, length of the list, number of relevant items,
    those of them in the list; `#judged@k`: judged items in the top k; `#weight…`: see `weighing`; `#counts…`: see
    `mean_weight`; `#name#0`, `#name#1`: the parts of a pooled mean. The task's definitions have columns of their own, by
    their name.

    ranked     : see `judge_partition`
    connection : the relations that it read, for a task that reads whole lists
    """
    columns, exposures = _scored(ranked, task, connection)
    judged = ranked[0]
    relevant = judged.relevant(task.conventions.relevance_threshold, "all")
    series = [
        pl.Series("user", judged.users.tolist() if judged.users.dtype == object else judged.users),
        *(_values(name, column) for name, column in columns.items()),
        pl.Series(KNOWN, judged.known),
        pl.Series(LISTED, judged.n_listed),
        pl.Series(RELEVANT, relevant.n_relevant),
        pl.Series(FOUND, np.bincount(relevant.hit_user, minlength=judged.n_users)),
        *(pl.Series(judged_at(k), replace(judged, weights=None).count(k)) for k in task.cutoffs),
        *_weights(relevant, task.conventions),
        *(
            pl.Series(name, judged.relevant(least, "all").relevant_weight.astype(np.float64))
            for name, least in task.mean_weights.items()
        ),
        *(series for name, column in columns.items() for series in _parts(name, column)),
    ]
    return Part(pl.DataFrame(series), exposures)


def _weights(relevant: Judged, conventions: Conventions) -> Iterator[pl.Series]:
    if conventions.propensity is not None:
        columns = weight_columns(relevant, conventions.propensity["clip"])
        yield from (pl.Series(name, values) for name, values in columns.items())


def _scored(
    ranked: Mapping[int, Judged], task: Task, connection: DuckDBPyConnection | None
) -> tuple[dict[str, Column], dict[str, Exposure]]:
    """Return all columns by name, labels first, and the exposures."""
    columns: dict[str, Column] = {}
    exposures: dict[str, Exposure] = {}
    for number, judged in ranked.items():
        ranking = task.conventions.rankings[number]
        labels = [label for label in task.labels if task.ranking_of(label) == ranking]
        definitions = [d for d in task.definitions if task.ranking_of(d.label) == ranking]
        whole = _whole(connection, task, judged, number)
        per_user = [label for label in labels if not label.metric.is_aggregate]
        _refuse_high_grades(judged, per_user, task.conventions, number)
        try:
            for column in score(judged, per_user, task.conventions, whole):
                columns[str(column.label)] = column
        except ScoringError as error:
            raise error.nested_in(number, 1) from error
        for position, definition in enumerate(definitions):
            try:
                (column,) = score(judged, [definition.label], definition.conventions, whole)
            except ScoringError as error:
                raise error.nested_in(number, 2, position) from error
            columns[definition.column] = column
        for label in labels:
            if label.metric.is_aggregate:
                _refuse_uncorrected(label, task.conventions, number)
                exposures[str(label)] = count_exposure(whole(None), label.k)
    return {name: columns[name] for name in task.columns}, exposures


def _refuse_uncorrected(label: Label, conventions: Conventions, number: int) -> None:
    """Raise if a number over all users cannot be corrected for sampled candidates."""
    if why := uncomputable(label, conventions):
        raise ScoringError(Refusal(escape_template(f"{label}: {why}"), (number, 3)))


def _refuse_high_grades(
    judged: Judged, labels: Sequence[Label], conventions: Conventions, number: int
) -> None:
    """Under an exponential gain one item of such a grade would drown all others, or give infinity."""
    highest = judged.truth_grade.max(initial=0.0)
    for position, label in enumerate(labels):
        if "gain" not in label.metric.conventions:
            continue
        gain = label.conventions(conventions).gain
        if isinstance(gain, str) and gain.startswith("exp2") and highest > HIGHEST_EXPONENT:
            message = (
                f"{label.name}: gain {gain}: grade {{highest:g}} lies above {HIGHEST_EXPONENT}; "
                "take the gain linear, or a map"
            )
            raise ScoringError(Refusal(message, (number, 0, position), highest=float(highest)))


def _whole(
    connection: DuckDBPyConnection | None, task: Task, judged: Judged, number: int
) -> Callable[[float | None], RankedLists]:
    @cache
    def whole(threshold: float | None) -> RankedLists:
        if task.items is None or connection is None:
            msg = "metrics beyond accuracy need `train` or `items`"
            raise ValueError(msg)
        return listed(
            connection,
            judged,
            task.items,
            number=number,
            threshold=threshold,
            of_requests=task.conventions.unit_mean is not None,
        )

    return whole


def judged_at(k: int) -> str:
    """Return the column that counts the judged items of the top k."""
    return f"#judged@{k}"


def part_names(name: str) -> tuple[str, str]:
    """Return the columns that hold the addends of a pooled mean."""
    return f"#{name}#0", f"#{name}#1"


def _values(name: str, column: Column) -> pl.Series:
    values = pl.Series(name, column.values)
    return values.set(pl.Series(column.left_out), None) if column.left_out.any() else values


def _parts(name: str, column: Column) -> list[pl.Series]:
    return [
        pl.Series(part, values)
        for part, values in zip(part_names(name), column.parts, strict=False)
    ]


JUDGED_UNITS = (
    2**20
)  # per judged item: averaged ties give fractions of items, which add up exactly in these units


def count_users(values: pl.DataFrame, task: Task) -> dict[str, int]:
    """Return counts of a partition's users and lists; those of partitions add up to those of the whole.

    `judged@k` is in units of 1 / JUDGED_UNITS of an item.
    """
    known, listed, relevant = (values[name].to_numpy() for name in (KNOWN, LISTED, RELEVANT))
    counts = {
        "in_truth": known.sum(),
        "in_lists": (listed > 0).sum(),
        "without_list": (known & (listed == 0)).sum(),
        "without_relevant": (known & (relevant == 0)).sum(),
        "only_in_lists": (~known & (listed > 0)).sum(),
    }
    for k in task.cutoffs:
        counts[f"shorter_than@{k}"] = (known & (listed > 0) & (listed < k)).sum()
        counts[f"listed@{k}"] = np.minimum(listed[known], k).sum()
        counts[f"judged@{k}"] = (values[judged_at(k)] * JUDGED_UNITS).round().sum()
    return {name: int(count) for name, count in counts.items()}


def evaluated(values: pl.DataFrame, task: Task) -> pl.DataFrame:
    """Return user, labels and weights in means, without the users of whom the conventions keep no value."""
    names = [str(label) for label in task.per_user]
    has_value = pl.col(KNOWN)
    if names:
        has_value |= pl.any_horizontal(pl.col(names).is_not_null())
    return values.filter(has_value).select("user", *names, *task.mean_weights)
