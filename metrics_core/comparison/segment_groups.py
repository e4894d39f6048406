"""Groups of users and items: by activity, a column, or popularity."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.segmentation import (
    ByActivity,
    ByColumn,
    ByPopularity,
    unknown_column,
)
from concord.metrics_core.data.relations import (
    Table,
    create_view,
    file_paths,
    read_frame,
    scan,
    schema_of,
)
from concord.metrics_core.errors import SettingNames, refuse
from concord.metrics_core.evaluation.model_result import Models, lists_of
from concord.metrics_core.evaluation.partition import Task, evaluate_partition
from concord.metrics_core.evaluation.side_data import Background
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import Label, parse
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.paired_test import UserValues
from concord.metrics_core.stats.replicates import mean_of_defined


def with_positions(lists: str) -> str:
    """Return SQL that adds `position`, the rank without later copies of items, to a table user, item, rank.

    Later copies of an item are null; the others move up, as in `evaluate`.
    """
    return f"""
        (SELECT *, row_number() OVER (PARTITION BY user ORDER BY rank) AS position
         FROM {lists} WHERE item IS NOT NULL)"""


@dataclass(frozen=True)
class Grouped:
    """One label in the groups of one segmentation.

    text   : the label as it is shown; `label` is None where the values have no better or worse
    values : group -> model -> (users,) values, NaN where a user does not count in that group
    clusters : whose requests they are, where they are values of requests
    bounds : lowest and highest value of the metric
    """

    text: str
    label: Label | None
    values: Mapping[str, Mapping[str, Floats]]
    clusters: Clusters | None = None
    bounds: Bounds = UNBOUNDED

    def column(self, segment: str, model: str) -> UserValues:
        """The values of a model in a group."""
        return UserValues(self.values[segment][model], self.clusters, self.bounds)


def up_to(edges: Sequence[int]) -> list[str]:
    """Names of the groups that these upper ends make of whole numbers: `0`, `1 to 20`, `over 20`."""
    names = []
    for low, high in zip([None, *edges[:-1]], edges, strict=True):
        first = 0 if low is None else low + 1
        names.append(f"{high}" if first == high else f"{first} to {high}")
    return [*names, f"over {edges[-1]}"]


def split(
    values: Mapping[str, Floats], groups: Sequence[str], of_user: NDArray[np.int64]
) -> dict[str, dict[str, Floats]]:
    """The users' values group by group; `of_user` numbers the group of each user, -1 for none."""
    return {
        group: {
            model: np.where(of_user == number, column, np.nan) for model, column in values.items()
        }
        for number, group in enumerate(groups)
    }


MOST_VALUES = 12  # of a column without edges
UNKNOWN = "not known"


@dataclass(frozen=True)
class UserGroups:
    """Groups of users; `of_user` is the number of each user's group."""

    question: str
    names: list[str]
    of_user: NDArray[np.int64]

    def grouped(self, inputs: ComparisonInput, label: Label) -> Grouped:
        """Return the users' values of a label in each group."""
        aligned, pinned = inputs.aligned, inputs.config.conventions
        values = aligned.values(str(label), label.conventions(pinned).undefined)
        of_groups = split(values, self.names, self.of_user)
        return Grouped(
            str(label), label, of_groups, aligned.clusters_for(label, pinned), label.bounds(pinned)
        )


def user_groups(
    inputs: ComparisonInput, name: str, segmentation: ByActivity | ByColumn
) -> UserGroups:
    """Return the groups of the compared users; every user has one.

    Raises
    ------
    InputError
        The column is missing, has too many values, or has texts that edges cannot cut.
    """
    data, users = inputs.data, inputs.aligned.user_ids
    if isinstance(segmentation, ByActivity):
        assert data.train is not None, "refused before"
        return _by_activity(data.train, segmentation, users)
    assert data.users is not None, "refused before"
    return _by_column(inputs.config.settings, data.users, name, segmentation, users)


def refuse_unknown_column(
    settings: SettingNames, known: Table, name: str, segmentation: ByColumn
) -> None:
    """Raise an InputError if the users' table lacks the column."""
    columns = [column for column in schema_of(known) if column != "user"]
    if segmentation.column not in columns:
        raise refuse(
            settings.location(f"segments.{name}"), *unknown_column(segmentation.column, columns)
        )


def _by_activity(train: Table, segmentation: ByActivity, users: pl.Series) -> UserGroups:
    counts = scan(train).group_by(pl.col("user").cast(pl.String)).len().collect()
    n_interactions = _joined(users, counts)["len"].fill_null(0).to_numpy()
    names = up_to(segmentation.edges)
    return UserGroups(
        "Does it depend on how much is known of a user? Users by interactions in train.",
        names,
        np.searchsorted(segmentation.edges, n_interactions, side="left"),
    )


def _by_column(
    settings: SettingNames, known: Table, name: str, segmentation: ByColumn, users: pl.Series
) -> UserGroups:
    column = segmentation.column
    refuse_unknown_column(settings, known, name, segmentation)
    table, where = read_frame(known), settings.location(f"segments.{name}")
    question = f"Does it depend on the {column} of a user?"
    # As series: a name such as `^.*$` would be a pattern.
    columns = [table["user"].cast(pl.String), table[column].alias("value")]
    values = _joined(users, pl.DataFrame(columns))["value"]
    if segmentation.edges is not None:
        return _cut(where, question, values, segmentation.edges)
    texts = values.cast(pl.String).fill_null(UNKNOWN)
    names = sorted(texts.unique().to_list(), key=lambda text: (text == UNKNOWN, text))
    if len(names) > MOST_VALUES:
        problem = f"{column!r} has {len(names):,} different values, too many for groups"
        raise refuse(where, problem, "cut a number with `edges:`, or write a coarser column")
    group_number = {text: number for number, text in enumerate(names)}
    numbers = np.array([group_number[text] for text in texts.to_list()])
    return UserGroups(question, names, numbers)


def _cut(where: str, question: str, values: pl.Series, edges: Sequence[float]) -> UserGroups:
    numbers = values.cast(pl.Float64, strict=False)
    wrong = values.filter(numbers.is_null() & values.is_not_null())
    if len(wrong):
        problem = f"{wrong[0]!r} is no number, so `edges` cannot cut it"
        raise refuse(where, problem, "remove `edges:`, or fix the column")
    ends = [_exactly(edge) for edge in edges]
    names = [f"up to {ends[0]}"]
    names += [f"over {low} to {high}" for low, high in pairwise(ends)]
    names += [f"over {ends[-1]}"]
    missing = numbers.is_null() | numbers.is_nan()
    group_numbers = np.searchsorted(edges, numbers.fill_null(0).to_numpy(), side="left")
    group_numbers[missing.to_numpy()] = len(names)
    return UserGroups(question, [*names, *[UNKNOWN][: int(missing.any())]], group_numbers)


def _exactly(edge: float) -> str:
    """Return the shortest text that gives the number back: groups have different names."""
    return str(int(edge)) if edge.is_integer() else repr(edge)


def _joined(users: pl.Series, known: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `known` in the users' order; ids of different types are compared as decimal text."""
    ids = users.cast(pl.String).to_frame("user")
    return ids.join(known, on="user", how="left", maintain_order="left")


GROUPS = ("head", "middle", "tail", "cold")
QUESTIONS = {
    "truth_item": "Are rare items found? Recall of the items that users wanted, by popularity in train.",
    "recommended_item": "Are rare items shown? The share of a list that goes to items of each popularity in train.",
}

# Items by falling number of users in the train, equal ones by id; an item belongs where its interactions end.
_POPULARITY = """
CREATE TABLE popularity AS
SELECT item, CASE WHEN before < $head * total THEN 0 WHEN before < $middle * total THEN 1 ELSE 2 END AS group_number
FROM (SELECT item, n, sum(n) OVER (ORDER BY n DESC, item) - n AS before, sum(n) OVER () AS total
      FROM (SELECT CAST(item AS VARCHAR) AS item, count(*) AS n FROM train GROUP BY ALL))
"""
_SHARES = """
SELECT CAST(user AS VARCHAR) AS user, {columns}
FROM {lists} AS shown LEFT JOIN popularity ON popularity.item = CAST(shown.item AS VARCHAR)
WHERE shown.position <= $k GROUP BY ALL
"""


def item_groups(inputs: ComparisonInput, segmentation: ByPopularity, k: int) -> Grouped:
    """Return R@k of the relevant items of each group, or the share of the top k that each group has."""
    single = lists_of(inputs.models)
    with _connected(inputs, single, segmentation) as connection:
        grouping = _Grouping(connection, inputs, segmentation.by, parse(f"R@{k}"), k)
        of_lists = {name: grouping.of_lists(number) for number, name in enumerate(single)}
    label = parse(f"R@{k}") if segmentation.by == "truth_item" else None
    users = inputs.aligned.users.cast(pl.String).to_frame("user")
    aligned = {
        m: users.join(f, on="user", how="left", maintain_order="left") for m, f in of_lists.items()
    }
    values: dict[str, Mapping[str, Floats]] = {
        group: {
            model: mean_of_defined(
                [aligned[name][group].fill_null(np.nan).to_numpy() for name in names]
            )
            for model, names in _names(inputs.models).items()
        }
        for group in GROUPS
    }
    known = {
        group: of_models
        for group, of_models in values.items()
        if any(_occurs(column, shares=label is None) for column in of_models.values())
    }
    text = f"Share@{k}" if label is None else str(label)
    bounds = (0.0, 1.0) if label is None else label.bounds(inputs.config.conventions)
    return Grouped(text, label, known, inputs.aligned.clusters, bounds)


def _names(models: Models) -> dict[str, list[str]]:
    """Return model -> names of its lists."""
    return {model: list(result.trainings or [model]) for model, result in models.items()}


def _occurs(values: Floats, *, shares: bool) -> bool:
    """True if an item of this group is recommended (`shares`), or relevant to a user."""
    return bool((values > 0).any() if shares else (~np.isnan(values)).any())


@contextmanager
def _connected(
    inputs: ComparisonInput, single: Models, segmentation: ByPopularity
) -> Iterator[DuckDBPyConnection]:
    data = inputs.data
    assert data.train is not None, "refused before"
    tables = {"train": data.train}
    for number, evaluated in enumerate(single.values()):
        tables[f"lists_of_{number}"] = evaluated.lists
        tables[f"truth_of_{number}"] = data.truth_of(evaluated)
    with data.connecting(file_paths(tables.values())) as connection:
        for name, table in tables.items():
            create_view(connection, name, table)
        head, middle = segmentation.shares
        connection.execute(_POPULARITY, {"head": head, "middle": middle})
        yield connection


@dataclass(frozen=True)
class _Grouping:
    """Computes the values of groups of items; `recall` is R@k."""

    connection: DuckDBPyConnection
    inputs: ComparisonInput
    by: str
    recall: Label
    k: int

    def of_lists(self, number: int) -> pl.DataFrame:
        """Return user as text, then a column per group; null if the user has no value."""
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
        lists.create_view("lists", replace=True)
        self.connection.view(f"truth_of_{number}").create_view("truth", replace=True)
        frame, *others = (self._recall(number, group) for number, group in enumerate(GROUPS))
        for other in others:
            frame = frame.join(other, on="user", how="full", coalesce=True)
        return frame

    @cached_property
    def _task(self) -> Task:
        """The evaluation of recall; its weights are those of the group's items, so `normalised` is left out."""
        data, pinned = self.inputs.data, self.inputs.config.conventions
        propensity = {k: v for k, v in (pinned.propensity or {}).items() if k != "normalised"}
        task = Task([self.recall], replace(pinned, propensity=propensity or None), only_known=True)
        return Background(data.train, data.items).with_item_columns(task)

    def _shares(self) -> pl.DataFrame:
        """Return the share of each user's top k that items of each group have."""
        shares = (
            f"count(*) FILTER (coalesce(popularity.group_number, 3) = {number}) / count(*) AS {group}"
            for number, group in enumerate(GROUPS)
        )
        query = _SHARES.format(columns=", ".join(shares), lists=with_positions("lists"))
        return pl.DataFrame(self.connection.sql(query, params={"k": self.k}).to_arrow_table())

    def _recall(self, number: int, group: str) -> pl.DataFrame:
        """Return R@k as if the ground truth held the relevant items of one group only."""
        conventions = self.inputs.config.conventions
        threshold = self.recall.conventions(conventions).relevance_threshold
        relevant = "" if threshold is None else f" AND grade >= {threshold!r}"
        truth_query = f"""SELECT truth.* FROM truth LEFT JOIN popularity ON popularity.item = CAST(truth.item AS VARCHAR)
                   WHERE coalesce(popularity.group_number, 3) = {number}{relevant}"""
        texts = _differing(self.connection)
        with self.inputs.data.connecting([]) as partition:
            for name, query in (("lists", "SELECT * FROM lists"), ("truth", truth_query)):
                casts = ", ".join(f"CAST({c} AS VARCHAR) AS {c}" for c in texts)
                select = f"SELECT * REPLACE ({casts}) FROM ({query})" if texts else query
                partition.register(name, self.connection.sql(select).to_arrow_table())
            partition.sql("SELECT user FROM truth").create_view("known")
            values = evaluate_partition(partition, self._task).values
        columns = (pl.col("user").cast(pl.String), pl.col(str(self.recall)).alias(group))
        return values.select(columns)


def _differing(connection: DuckDBPyConnection) -> list[str]:
    """Return the id columns whose types differ between the files, so that their texts are compared."""
    types = [
        dict(
            connection.execute(f"SELECT column_name, column_type FROM (DESCRIBE {name})").fetchall()
        )
        for name in ("lists", "truth")
    ]
    return [name for name in ("user", "item") if types[0][name] != types[1][name]]
