"""A bucket of users in a worker, scored like a whole table, with counts that can be merged."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import connect
from concord.metrics_core.data.tables import share_id_types
from concord.metrics_core.errors import (
    InputError,
    ScoringError,
)
from concord.metrics_core.evaluation.block import Block
from concord.metrics_core.evaluation.diagnostics import COLUMNS as WEIGHTS
from concord.metrics_core.evaluation.diagnostics import KNOWN, LISTED, N_HITS, RELEVANT, list_kinds
from concord.metrics_core.evaluation.partition import (
    Part,
    Task,
    count_users,
    evaluate_block,
    judged_at,
    part_names,
    select_evaluated,
)
from concord.metrics_core.evaluation.sanity_counts import PERFECT_TOP, hits_at
from concord.metrics_core.evaluation.spark.facts import OWN_METRICS, Facts
from concord.metrics_core.evaluation.summary import compute_totals
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.label import is_pooled

FACTS, IDS = "facts", "ids"  # columns beside the values; no value has such a name
USER = "user"
ORIGIN = "origin"  # where a row comes from
SEQUENCE = "sequence"  # number of a row among those of its origin
_ID = pa.struct([("kind", pa.string()), ("id", pa.string()), ("n", pa.int64())])


@dataclass(frozen=True)
class Plan:
    """What workers do with each bucket; its size is limited, as it is sent to them.

    Attributes
    ----------
    columns : Mapping[str, tuple of str]
        Columns of each table, in the order in which tables are read.
    task : Task
        What is evaluated.
    scores : bool
        False if the tables are only checked.
    as_text : bool
        True if ids of users are text.
    """

    columns: Mapping[str, tuple[str, ...]]
    task: Task
    scores: bool
    as_text: bool

    @property
    def size(self) -> int:
        """Number of bytes that each worker receives."""
        items = self.task.items
        arrays = (
            []
            if items is None
            else [items.users, items.in_catalogue, items.features, items.group, items.ids]
        )
        return sum(array.nbytes for array in arrays if array is not None)

    def bucket(self, connection: DuckDBPyConnection) -> "Bucket":
        """Return the evaluator of one bucket."""
        return Bucket(connection, self)


def value_columns(task: Task) -> dict[str, pa.DataType]:
    """Return the columns of a partition's values and their types, without the user."""
    columns = task.columns
    parts = [
        part
        for name, (label, conventions) in columns.items()
        if is_pooled(label, label.conventions(conventions))
        for part in part_names(name)
    ]
    counts = [LISTED, RELEVANT, N_HITS]
    counts += [column(k) for column in (judged_at, hits_at) for k in task.cutoffs]
    counts.append(PERFECT_TOP)
    averaged = {judged_at(k): pa.float64() for k in task.cutoffs}
    return {
        **dict.fromkeys(columns, pa.float64()),
        KNOWN: pa.bool_(),
        **(dict.fromkeys(counts, pa.int64()) | averaged),
        **dict.fromkeys(WEIGHTS if task.conventions.propensity else (), pa.float64()),
        **dict.fromkeys(task.mean_weights, pa.float64()),
        **dict.fromkeys(parts, pa.float64()),
        **dict.fromkeys(task.tie_columns, pa.float64()),
    }


def schema_of(plan: Plan) -> pa.Schema:
    """Return the schema of a bucket's result: a row of values per user, then a row of facts."""
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
    """Return the values and facts of the users of a bucket."""
    with closing(connect(config={"threads": 1})) as connection:
        bucket = plan.bucket(connection)
        return bucket.table(bucket.evaluate(lists, others))


@dataclass
class Bucket:
    """Validated and ranked tables: `recs`, `truth`, and optionally `users` and `train`."""

    connection: DuckDBPyConnection
    plan: Plan
    facts: Facts = field(default_factory=Facts)
    ids: list[pa.Table] = field(default_factory=list)

    def evaluate(self, lists: pa.Table, others: pa.Table) -> Part | None:
        """Return the values; None if nothing is scored."""
        for name, columns in self.plan.columns.items():
            self.read(name, *_rows_of(name, columns, lists, others))
            if self.facts.problems:
                return None
        self._complete()
        self.count_tables()
        if not self.plan.scores:
            return None
        try:
            part = evaluate_block(Block.from_relations(self.connection), self.plan.task)
        except ScoringError as error:
            self.facts.refusal = error.refusal
            return None
        except InputError as error:
            self.facts.problems = {OWN_METRICS: list(error.problems)}
            return None
        self._count_values(part)
        return part

    def read(self, name: str, rows: pa.Table, _: Ints) -> None:
        """Register the rows of a table."""
        relations = {"recs": "ranked", "truth": "judgements", "users": "knowns", "train": "train"}
        self.connection.register(relations[name], rows)

    def count_tables(self) -> None:
        """Count what warnings and messages need; does nothing for validated tables."""

    def keep(self, name: str, query: str) -> None:
        """Store the result of a query as a table."""
        self.connection.execute(f"CREATE TABLE {name} AS {query}")

    def _complete(self) -> None:
        """Create the tables that were not given, and views whose ids have one type."""
        tables = self.plan.columns
        if "truth" not in tables:
            self.keep(
                "judgements", "SELECT user, item, 1.0::DOUBLE AS grade FROM ranked WHERE FALSE"
            )
        if "users" not in tables:
            self.keep("knowns", "SELECT DISTINCT user FROM judgements")
        if "train" not in tables:
            self.keep("train", "SELECT user, item FROM ranked WHERE FALSE")
        views = {"lists": "ranked", "truth": "judgements", "known": "knowns"}
        share_id_types(self.connection, views)

    def add(self, kind: str, query: str) -> None:
        """Add ids of a kind, with a number for each."""
        ids = "SELECT $kind AS kind, CAST(id AS VARCHAR) AS id, CAST(n AS BIGINT) AS n"
        query = f"{ids} FROM ({query}) WHERE id IS NOT NULL"
        rows = self.connection.sql(query, params={"kind": kind})
        self.ids.append(rows.to_arrow_table())

    def _count_values(self, part: Part) -> None:
        task, facts = self.plan.task, self.facts
        facts.counts |= count_users(part.values, task)
        facts.lists = [(*kind, number) for kind, number in list_kinds(part.values).items()]
        facts.counts["users"] = len(part.values)
        facts.counts["n_evaluated"] = len(select_evaluated(part.values, task))
        for name, (label, conventions) in task.columns.items():
            defined = part.values.filter(pl.col(name).is_not_null())
            parts = [defined[p].to_numpy() for p in part_names(name) if p in defined.columns]
            undefined, bounds = label.conventions(conventions).undefined, label.bounds(conventions)
            facts.totals[name] = compute_totals(defined[name].to_numpy(), parts, undefined, bounds)
        for name, exposure in part.exposures.items():
            facts.exposures[name] = exposure.n_users
            nonzero = np.flatnonzero(exposure.counts)
            exposed = pa.table({"id": pa.array(nonzero), "n": pa.array(exposure.counts[nonzero])})
            self.connection.register("shown", exposed)
            self.add(f"exposure {name}", "SELECT id, n FROM shown")

    def table(self, part: Part | None) -> pa.Table:
        """Return values and facts in the schema of `schema_of`."""
        schema = schema_of(self.plan)
        no_ids = pa.schema(list(_ID)).empty_table()
        ids = pa.concat_tables([no_ids, *(each.cast(no_ids.schema) for each in self.ids)])
        inside = pa.concat_arrays([*ids.to_struct_array().chunks, pa.array([], _ID)])
        nested = pa.ListArray.from_arrays([0, len(inside)], inside)
        columns = {FACTS: pa.array([self.facts.as_json()]), IDS: nested}
        summary = _filled(schema, columns, 1)
        if part is None:
            return summary
        names = [USER, *value_columns(self.plan.task)]
        values = part.values.select(names).to_arrow()
        columns = {
            name: values.column(original).cast(schema.field(name).type)
            for name, original in zip(schema.names, names, strict=False)
        }
        return pa.concat_tables([_filled(schema, columns, len(values)), summary])


def _filled(schema: pa.Schema, known: Mapping[str, Any], rows: int) -> pa.Table:
    """Return a table with these columns; the others are null."""
    columns = [known.get(f.name, pa.nulls(rows, f.type)) for f in schema]
    return pa.table(columns, schema=schema)


def _rows_of(
    name: str, names: tuple[str, ...], lists: pa.Table, others: pa.Table
) -> tuple[pa.Table, Ints]:
    """Return the rows of a table in their original order, and their origins."""
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
