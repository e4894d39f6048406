"""One bucket of users, inside a worker: read, checked, ranked and scored as a whole table is on one machine."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.id_types import share_id_types
from concord.metrics_core.checking.locked import connect
from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.checking.refused import ScoringError
from concord.metrics_core.metrics.catalogue import is_pooled
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.scoring.buckets.facts import OWN_METRICS, Facts
from concord.metrics_core.scoring.partition import (
    Part,
    Task,
    count_users,
    evaluate_partition,
    evaluated,
    judged_at,
    part_names,
)
from concord.metrics_core.scoring.summary import totals_of
from concord.metrics_core.scoring.user_columns import FOUND, KNOWN, LISTED, RELEVANT
from concord.metrics_core.scoring.weighing import COLUMNS as WEIGHTS

FACTS, IDS = "facts", "ids"  # columns beside the values; no value has such a name
USER = "user"
ORIGIN = "origin"  # of a row: where it came from
SEQUENCE = "sequence"  # and which it is of those from there
_ID = pa.struct([("of", pa.string()), ("id", pa.string()), ("n", pa.int64())])


@dataclass(frozen=True)
class Plan:
    """What is done with every bucket, the same for all; it travels to the workers, and is checked for its size.

    columns : table -> its columns, in the order in which the tables are read
    scores  : is the task computed? Else the tables are only read
    as_text : are the ids of users text in all of them?
    numbers : item, item_number: of all items, for metrics beyond accuracy
    """

    columns: Mapping[str, tuple[str, ...]]
    task: Task
    scores: bool
    as_text: bool
    numbers: pa.Table | None = None

    @property
    def size(self) -> int:
        """Bytes that every worker gets."""
        items = self.task.items
        arrays = (
            [] if items is None else [items.users, items.in_catalogue, items.features, items.group]
        )
        size = sum(array.nbytes for array in arrays if array is not None)
        return size + (0 if self.numbers is None else self.numbers.nbytes)

    def bucket(self, connection: DuckDBPyConnection) -> "Bucket":
        """What evaluates one."""
        return Bucket(connection, self)


def value_columns(task: Task) -> dict[str, pa.DataType]:
    """The columns of the values of a partition, but for the user's."""
    named = task.columns
    parts = [
        part
        for name, (label, conventions) in named.items()
        if is_pooled(label, label.conventions(conventions))
        for part in part_names(name)
    ]
    counts = [LISTED, RELEVANT, FOUND, *map(judged_at, task.cutoffs)]
    averaged = {judged_at(k): pa.float64() for k in task.cutoffs}
    return {
        **dict.fromkeys(named, pa.float64()),
        KNOWN: pa.bool_(),
        **(dict.fromkeys(counts, pa.int64()) | averaged),
        **dict.fromkeys(WEIGHTS if task.conventions.propensity else (), pa.float64()),
        **dict.fromkeys(task.mean_weights, pa.float64()),
        **dict.fromkeys(parts, pa.float64()),
    }


def schema_of(plan: Plan) -> pa.Schema:
    """What a bucket gives: a row a user with values by number, then one with its facts."""
    values = value_columns(plan.task) if plan.scores else {}
    return pa.schema(
        {
            USER: pa.string() if plan.as_text else pa.int64(),
            **{f"v{number}": kind for number, kind in enumerate(values.values())},
            FACTS: pa.string(),
            IDS: pa.list_(_ID),
        }
    )


def evaluate_bucket(plan: Plan, lists: pa.Table, others: pa.Table) -> pa.Table:
    """The values of the bucket's users, and what is told of them."""
    with closing(connect(config={"threads": 1})) as connection:
        bucket = plan.bucket(connection)
        return bucket.table(bucket.evaluated(lists, others))


@dataclass
class Bucket:
    """Tables that were read, checked and ranked before: `recs`, `truth`, `users` where they are named, and where items
    count `train`.
    """

    connection: DuckDBPyConnection
    plan: Plan
    facts: Facts = field(default_factory=Facts)
    ids: list[pa.Table] = field(default_factory=list)

    def evaluated(self, lists: pa.Table, others: pa.Table) -> Part | None:
        """None where nothing is scored."""
        for name, columns in self.plan.columns.items():
            self.read(name, *_rows_of(name, columns, lists, others))
            if self.facts.problems:
                return None
        self._complete()
        self.tell()
        if not self.plan.scores:
            return None
        try:
            part = evaluate_partition(self.connection, self.plan.task)
        except ScoringError as error:
            self.facts.refusal = error.refusal
            return None
        except InputError as error:
            self.facts.problems = {OWN_METRICS: list(error.problems)}
            return None
        self._tell_values(part)
        return part

    def read(self, name: str, rows: pa.Table, _: Ints) -> None:
        """Make a table's rows a relation."""
        relations = {"recs": "ranked", "truth": "judgements", "users": "knowns", "train": "train"}
        self.connection.register(relations[name], rows)

    def tell(self) -> None:
        """What is to be told of the tables."""

    def keep(self, name: str, query: str) -> None:
        """Make a query a table."""
        self.connection.execute(f"CREATE TABLE {name} AS {query}")

    def _complete(self) -> None:
        """What evaluating needs beside the tables that were read."""
        tables, plan = self.plan.columns, self.plan
        if "truth" not in tables:
            self.keep(
                "judgements", "SELECT user, item, 1.0::DOUBLE AS grade FROM ranked WHERE FALSE"
            )
        if "users" not in tables:
            self.keep("knowns", "SELECT DISTINCT user FROM judgements")
        if "train" not in tables:
            self.keep("train", "SELECT user, item FROM ranked WHERE FALSE")
        if plan.numbers is not None:
            self.connection.register("item_numbers", plan.numbers)
        views = {"lists": "ranked", "truth": "judgements", "known": "knowns"}
        share_id_types(self.connection, views)

    def add(self, of: str, query: str) -> None:
        """Ids, and a number of each."""
        told = f"SELECT $of AS of, CAST(id AS VARCHAR) AS id, CAST(n AS BIGINT) AS n FROM ({query})"
        found = self.connection.sql(f"{told} WHERE id IS NOT NULL", params={"of": of})
        self.ids.append(found.to_arrow_table())

    def _tell_values(self, part: Part) -> None:
        task, facts = self.plan.task, self.facts
        facts.counts |= count_users(part.values, task)
        facts.counts["users"] = len(part.values)
        facts.counts["kept"] = len(evaluated(part.values, task))
        for name, (label, conventions) in task.columns.items():
            kept = part.values.filter(pl.col(name).is_not_null())
            parts = [kept[p].to_numpy() for p in part_names(name) if p in kept.columns]
            undefined, bounds = label.conventions(conventions).undefined, label.bounds(conventions)
            facts.totals[name] = totals_of(kept[name].to_numpy(), parts, undefined, bounds)
        for name, exposure in part.exposures.items():
            facts.exposures[name] = exposure.n_users
            held = np.flatnonzero(exposure.counts)
            shown = pa.table({"id": pa.array(held), "n": pa.array(exposure.counts[held])})
            self.connection.register("shown", shown)
            self.add(f"exposure {name}", "SELECT id, n FROM shown")

    def table(self, part: Part | None) -> pa.Table:
        """As `schema_of` says."""
        schema = schema_of(self.plan)
        nothing = pa.schema(list(_ID)).empty_table()
        ids = pa.concat_tables([nothing, *(each.cast(nothing.schema) for each in self.ids)])
        inside = pa.concat_arrays([*ids.to_struct_array().chunks, pa.array([], _ID)])
        listed = pa.ListArray.from_arrays([0, len(inside)], inside)
        told = {FACTS: pa.array([self.facts.as_json()]), IDS: listed}
        summary = _filled(schema, told, 1)
        if part is None:
            return summary
        names = [USER, *value_columns(self.plan.task)]
        values = part.values.select(names).to_arrow()
        held = {
            ours: values.column(theirs).cast(schema.field(ours).type)
            for ours, theirs in zip(schema.names, names, strict=False)
        }
        return pa.concat_tables([_filled(schema, held, len(values)), summary])


def _filled(schema: pa.Schema, held: Mapping[str, Any], rows: int) -> pa.Table:
    """A table of these columns; the others are null."""
    columns = [held.get(f.name, pa.nulls(rows, f.type)) for f in schema]
    return pa.table(columns, schema=schema)


def _rows_of(
    name: str, names: tuple[str, ...], lists: pa.Table, others: pa.Table
) -> tuple[pa.Table, Ints]:
    """The rows of a table, in the order in which they stood there, and where."""
    rows = lists if name == "recs" else others.filter(pc.equal(others.column("side"), name))
    prefix = "" if name == "recs" else f"{name}_"
    origin = rows.column(ORIGIN).to_numpy()
    several = SEQUENCE in rows.schema.names and not rows.column(SEQUENCE).null_count
    keys = (rows.column(SEQUENCE).to_numpy(), origin) if several else (origin,)
    if np.any(origin[1:] <= origin[:-1]):
        order = np.lexsort(keys)
        rows, origin = rows.take(pa.array(order)), origin[order]
    columns = [rows.column(f"{prefix}{number}") for number in range(len(names))]
    return pa.table(columns, names=list(names)), origin
