"""Groups of users and items: by activity, by a column, or by popularity."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.segmentation import (
    ByActivity,
    ByColumn,
    ByPopularity,
    unknown_column_problem,
)
from concord.metrics_core.data.tables import (
    Table,
    create_view,
    file_paths,
    read_frame,
    scan,
    schema_of,
    share_id_types,
)
from concord.metrics_core.errors import SettingNames, refuse
from concord.metrics_core.evaluation.block import Block
from concord.metrics_core.evaluation.evaluate_block import evaluate_block
from concord.metrics_core.evaluation.model_result import Models, results_by_list
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.metrics.label import Label, parse
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.results.comparison_parts import ACTIVITY_QUESTION
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.paired_test import UserValues
from concord.metrics_core.stats.replicates import mean_of_defined


def with_positions(lists: str) -> str:
    """Return SQL that adds `position`, the rank without duplicates, to a table user, item, rank.

    Duplicates of an item are null; later items move up, as in `evaluate`.
    """
    return f"""
        (SELECT *, row_number() OVER (PARTITION BY user ORDER BY rank) AS position
         FROM {lists} WHERE item IS NOT NULL)"""


@dataclass(frozen=True)
class GroupValues:
    """Values of one label in the groups of one segmentation.

    Attributes
    ----------
    text : str
        The label as it is shown.
    label : Label or None
        None if no direction of the values is better.
    values : dict
        Group -> model -> values, shape (n_users,); NaN for users who do not count in the group.
    clusters : Clusters or None
        The users of requests, if values are those of requests.
    bounds : (float, float)
        Lowest and highest possible value of the metric.
    """

    text: str
    label: Label | None
    values: Mapping[str, Mapping[str, Floats]]
    clusters: Clusters | None = None
    bounds: Bounds = UNBOUNDED

    def column(self, segment: str, model: str) -> UserValues:
        """Return the values of a model in a group."""
        return UserValues(self.values[segment][model], self.clusters, self.bounds)

    def count_users(self, segment: str, selected: Bools | bool = True) -> int:
        """Return how many users have a value with any model in a group, and are all `selected`.

        A user with several requests is selected if each of those in the group is.
        """
        columns = self.values.get(segment, {}).values()
        defined = np.logical_or.reduce([~np.isnan(column) for column in columns])
        if self.clusters is None:
            return int((defined & selected).sum())
        users = self.clusters.user
        return len(np.setdiff1d(users[defined], users[defined & ~np.asarray(selected)]))


def activity_group_names(edges: Sequence[int]) -> list[str]:
    """Return names of groups of integers with these upper ends: `0`, `1 to 20`, `over 20`."""
    names = []
    for low, high in zip([None, *edges[:-1]], edges, strict=True):
        first = 0 if low is None else low + 1
        names.append(f"{high}" if first == high else f"{first} to {high}")
    return [*names, f"over {edges[-1]}"]


MAX_GROUPS = 12  # of a column without edges
UNKNOWN = "not known"


@dataclass(frozen=True)
class UserGroups:
    """Groups of users; `group_numbers` has the position of each user's group in `names`."""

    question: str
    names: list[str]
    group_numbers: NDArray[np.int64]

    def values(self, inputs: ComparisonInput, label: Label) -> GroupValues:
        """Return the values of a label in each group."""
        aligned, conventions = inputs.aligned, inputs.config.conventions
        columns = aligned.values(str(label), label.conventions(conventions).undefined)
        return GroupValues(
            str(label),
            label,
            {
                name: {
                    model: np.where(self.group_numbers == number, column, np.nan)
                    for model, column in columns.items()
                }
                for number, name in enumerate(self.names)
            },
            aligned.clusters_for(label, conventions),
            label.bounds(conventions),
        )


def group_users(
    inputs: ComparisonInput, name: str, segmentation: ByActivity | ByColumn
) -> UserGroups:
    """Return the groups of the evaluated users; every user is in one group.

    Raises
    ------
    InputError
        The column is missing, has too many values, or has edges but is not a number.
    """
    if inputs.list_results is not None:
        return UserGroups(*inputs.list_results.user_groups[name])
    data, users = inputs.data, inputs.aligned.user_ids
    if isinstance(segmentation, ByActivity):
        assert data.train is not None, "refused before"
        return _group_by_activity(data.train, segmentation, users)
    assert data.users is not None, "refused before"
    return _group_by_column(inputs.config.settings, data.users, name, segmentation, users)


def refuse_unknown_column(
    settings: SettingNames, table: Table, name: str, segmentation: ByColumn
) -> None:
    """Raise an InputError if the users' table lacks the column."""
    columns = [column for column in schema_of(table) if column != "user"]
    if segmentation.column not in columns:
        raise refuse(
            settings.location("segments", name),
            *unknown_column_problem(segmentation.column, columns),
        )


def _group_by_activity(train: Table, segmentation: ByActivity, users: pl.Series) -> UserGroups:
    counts = scan(train).group_by(pl.col("user").cast(pl.String)).len().collect()
    n_interactions = _join_users(users, counts)["len"].fill_null(0).to_numpy()
    return UserGroups(
        ACTIVITY_QUESTION,
        activity_group_names(segmentation.edges),
        np.searchsorted(segmentation.edges, n_interactions, side="left"),
    )


def _group_by_column(
    settings: SettingNames, table: Table, name: str, segmentation: ByColumn, users: pl.Series
) -> UserGroups:
    column = segmentation.column
    refuse_unknown_column(settings, table, name, segmentation)
    frame, location = read_frame(table), settings.location("segments", name)
    question = f"Does it depend on the {column} of a user?"
    # As series: a name such as `^.*$` would be a pattern.
    columns = [frame["user"].cast(pl.String), frame[column].alias("value")]
    values = _join_users(users, pl.DataFrame(columns))["value"]
    if segmentation.edges is not None:
        return _group_by_edges(location, question, values, segmentation.edges)
    texts = values.cast(pl.String).fill_null(UNKNOWN)
    names = sorted(texts.unique().to_list(), key=lambda text: (text == UNKNOWN, text))
    if len(names) > MAX_GROUPS:
        problem = f"{column!r} has {len(names):,} different values, too many for groups"
        raise refuse(location, problem, "cut a number with `edges:`, or write a coarser column")
    group_number = {text: number for number, text in enumerate(names)}
    numbers = np.array([group_number[text] for text in texts.to_list()])
    return UserGroups(question, names, numbers)


def _group_by_edges(
    location: str, question: str, values: pl.Series, edges: Sequence[float]
) -> UserGroups:
    numbers = values.cast(pl.Float64, strict=False)
    invalid = values.filter(numbers.is_null() & values.is_not_null())
    if len(invalid):
        problem = f"{invalid[0]!r} is not a number, so `edges` cannot cut it"
        raise refuse(location, problem, "remove `edges:`, or fix the column")
    ends = [_format_exactly(edge) for edge in edges]
    names = [f"up to {ends[0]}"]
    names += [f"over {low} to {high}" for low, high in pairwise(ends)]
    names += [f"over {ends[-1]}"]
    missing = numbers.is_null() | numbers.is_nan()
    group_numbers = np.searchsorted(edges, numbers.fill_null(0).to_numpy(), side="left")
    group_numbers[missing.to_numpy()] = len(names)
    return UserGroups(question, [*names, *[UNKNOWN][: int(missing.any())]], group_numbers)


def _format_exactly(edge: float) -> str:
    """Return the shortest text that parses to the same number: groups need different names."""
    return str(int(edge)) if edge.is_integer() else repr(edge)


def _join_users(users: pl.Series, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `frame` in the order of `users`; ids are compared as text."""
    ids = users.cast(pl.String).to_frame("user")
    return ids.join(frame, on="user", how="left", maintain_order="left")


GROUPS = ("head", "middle", "tail", "cold")
QUESTIONS = {
    "truth_item": (
        "Are rare items found? Recall of relevant items, by popularity in the training set."
    ),
    "recommended_item": (
        "Are rare items recommended? Share of each list, by popularity in the training set."
    ),
}

# Items are sorted by descending number of interactions, then by id. An item belongs to the group in
# which its interactions start.
_POPULARITY = """
CREATE TABLE popularity AS
SELECT item, CASE
  WHEN before < $head * total THEN 0 WHEN before < $middle * total THEN 1 ELSE 2
END AS group_number
FROM (SELECT item, n, sum(n) OVER (ORDER BY n DESC, item) - n AS before, sum(n) OVER () AS total
      FROM (SELECT CAST(item AS VARCHAR) AS item, count(*) AS n FROM train GROUP BY ALL))
"""
_GROUP_NUMBER = "coalesce(popularity.group_number, 3)"  # an item that is not in train is cold
_SHARES = """
SELECT CAST(user AS VARCHAR) AS user, {columns}
FROM {lists} AS recommended
LEFT JOIN popularity ON popularity.item = CAST(recommended.item AS VARCHAR)
WHERE recommended.position <= $k GROUP BY ALL
"""
_MAX_REMEMBERED = 1_000_000  # values of a group: 32 MB of all groups


def group_items(inputs: ComparisonInput, segmentation: ByPopularity, k: int) -> GroupValues:
    """Return R@k of the relevant items of each group, or each group's share of the top k."""
    known = inputs.item_groups.get((segmentation, k))
    if known is not None or inputs.list_results is not None:
        return _item_groups(inputs, segmentation, k, known or {})
    single = results_by_list(inputs.models)
    with _open_tables(inputs, single, segmentation) as connection:
        evaluator = _ItemGroupEvaluator(connection, inputs, segmentation.by, parse(f"R@{k}"), k)
        frames = {name: evaluator.evaluate_lists(number) for number, name in enumerate(single)}
    label = parse(f"R@{k}") if segmentation.by == "truth_item" else None
    users = inputs.aligned.users
    aligned = {name: _join_users(users, frame) for name, frame in frames.items()}
    values: dict[str, Mapping[str, Floats]] = {
        group: {
            model: mean_of_defined(
                [
                    aligned[name][group].fill_null(np.nan).to_numpy()
                    for name in result.trainings or [model]
                ]
            )
            for model, result in inputs.models.items()
        }
        for group in GROUPS
    }
    occurring = {
        group: by_model
        for group, by_model in values.items()
        if any(_occurs(column, shares=label is None) for column in by_model.values())
    }
    if len(users) * len(inputs.models) <= _MAX_REMEMBERED:
        inputs.item_groups[segmentation, k] = occurring
    return _item_groups(inputs, segmentation, k, occurring)


def _item_groups(
    inputs: ComparisonInput,
    segmentation: ByPopularity,
    k: int,
    values: Mapping[str, Mapping[str, Floats]],
) -> GroupValues:
    """Return the values of groups of items, from group -> model -> values per user."""
    label = parse(f"R@{k}") if segmentation.by == "truth_item" else None
    text = f"Share@{k}" if label is None else str(label)
    bounds = (0.0, 1.0) if label is None else label.bounds(inputs.config.conventions)
    return GroupValues(text, label, values, inputs.aligned.clusters, bounds)


def _occurs(values: Floats, *, shares: bool) -> bool:
    """True if an item of this group is relevant to a user; with `shares`, if it is recommended."""
    return bool((values > 0).any() if shares else (~np.isnan(values)).any())


@contextmanager
def _open_tables(
    inputs: ComparisonInput, single: Models, segmentation: ByPopularity
) -> Iterator[DuckDBPyConnection]:
    data = inputs.data
    assert data.train is not None, "refused before"
    tables = {"train": data.train}
    for number, result in enumerate(single.values()):
        tables[f"lists_of_{number}"] = result.lists
        tables[f"truth_of_{number}"] = data.truth_of(result)
    with data.connect(file_paths(tables.values())) as connection:
        for name, table in tables.items():
            create_view(connection, name, table)
        head, middle = segmentation.shares
        connection.execute(_POPULARITY, {"head": head, "middle": middle})
        yield connection


@dataclass(frozen=True)
class _ItemGroupEvaluator:
    """Evaluator of groups of items; `recall` is R@k."""

    connection: DuckDBPyConnection
    inputs: ComparisonInput
    by: str
    recall: Label
    k: int

    def evaluate_lists(self, number: int) -> pl.DataFrame:
        """Return user as text, and a column per group; null if the user has no value."""
        conventions = self.inputs.config.conventions
        lists = self.connection.view(f"lists_of_{number}")
        if "ranking" in lists.columns:
            lists = lists.filter(f"ranking = {self.recall.ranking_number(conventions)}")
        if self.by == "recommended_item":
            lists.create_view("lists", replace=True)
            return self._shares()
        needs_whole_list = conventions.candidates is not None  # a sampled rank below k counts too
        if not needs_whole_list and self.recall.conventions(conventions).ties != "average":
            lists = lists.filter(f"rank <= {self.k}")  # else items tied with the k-th count too
        lists.create_view("top_lists", replace=True)
        share_id_types(self.connection, {"lists": "top_lists", "truth": f"truth_of_{number}"})
        rows = self.connection.sql("FROM lists ORDER BY user, rank").to_arrow_table()
        frame, *others = (self._recall(rows, *group) for group in enumerate(GROUPS))
        for other in others:
            frame = frame.join(other, on="user", how="full", coalesce=True)
        return frame

    @cached_property
    def _task(self) -> Task:
        """The evaluation of recall within a group.

        `normalised` is removed: weights are those of the group's items, not of all items.
        """
        data, conventions = self.inputs.data, self.inputs.config.conventions
        propensity = {k: v for k, v in (conventions.propensity or {}).items() if k != "normalised"}
        conventions = replace(conventions, propensity=propensity or None)
        task = Task([self.recall], conventions, only_known=True)
        return data.with_item_columns(task)

    def _shares(self) -> pl.DataFrame:
        """Return each group's share of each user's top k."""
        shares = (
            f"count(*) FILTER ({_GROUP_NUMBER} = {number}) / count(*) AS {group}"
            for number, group in enumerate(GROUPS)
        )
        query = _SHARES.format(columns=", ".join(shares), lists=with_positions("lists"))
        return pl.DataFrame(self.connection.sql(query, params={"k": self.k}).to_arrow_table())

    def _recall(self, lists: pa.Table, number: int, group: str) -> pl.DataFrame:
        """Return R@k of the lists on the relevant items of one group."""
        conventions = self.inputs.config.conventions
        threshold = self.recall.conventions(conventions).relevance_threshold
        truth_query = f"""
            SELECT truth.* FROM truth
            LEFT JOIN popularity ON popularity.item = CAST(truth.item AS VARCHAR)
            WHERE {_GROUP_NUMBER} = {number} AND grade >= {threshold or 0.0!r}"""
        truth = self.connection.sql(f"{truth_query} ORDER BY truth.user").to_arrow_table()
        values = evaluate_block(Block.from_tables(lists, truth), self._task).values
        return values.select(pl.col("user").cast(pl.String), pl.col(str(self.recall)).alias(group))
