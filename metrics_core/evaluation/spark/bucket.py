"""A bucket of users in a worker: read, checked, ranked, counted and scored like whole tables."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.id_matching import DuckDBIds
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.load_tables import InMemorySink, load_recommendations
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.quality import MAX_COUNTED_GRADES
from concord.metrics_core.data.relations import connect, only_row
from concord.metrics_core.data.side_data import read_train, read_truth, read_users
from concord.metrics_core.data.tables import share_id_types
from concord.metrics_core.errors import InputError
from concord.metrics_core.evaluation.block import Block
from concord.metrics_core.evaluation.diagnostics import count_train_items, count_train_overlap
from concord.metrics_core.evaluation.evaluate_block import Part, part_names, select_evaluated
from concord.metrics_core.evaluation.executors import evaluate_or_refuse
from concord.metrics_core.evaluation.spark.facts import Facts, exposures_with, row_mark
from concord.metrics_core.evaluation.spark.transport import as_json
from concord.metrics_core.evaluation.summary import compute_totals
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.judged import Ints

FACTS, IDS = "facts", "ids"  # columns beside the values
ORIGIN = "origin"  # where a row comes from
SEQUENCE = "sequence"  # number of a row among those of its origin
_ID = pa.struct([("kind", pa.string()), ("id", pa.string()), ("n", pa.int64())])


@dataclass(frozen=True)
class Plan:
    """What workers do with each bucket; its size is limited, as it is sent to them.

    Attributes
    ----------
    tables : Mapping[str, InputTable]
        The tables, with the columns that are read but without rows, in the order of reading.
    task : Task
        What is evaluated.
    policies : Policies
        Policies for unusual content.
    as_text : bool
        True if ids of users are text.
    catalogue : Table or None
        item (text); None without a catalogue.
    scores : bool
        False if the tables are only checked and counted.
    """

    tables: Mapping[str, InputTable]
    task: Task
    policies: Policies
    as_text: bool
    catalogue: pa.Table | None
    scores: bool = True

    @property
    def size(self) -> int:
        """Number of bytes that each worker receives."""
        items = self.task.items
        sent = (
            []
            if items is None
            else [items.users, items.in_catalogue, items.features, items.group, items.ids]
        )
        return sum(each.nbytes for each in (*sent, self.catalogue) if each is not None)

    @property
    def value_names(self) -> dict[str, str]:
        """Name in Spark of each label's column -> the label; Spark cannot resolve `RBP(p=0.8)`."""
        return {f"v{number}": str(label) for number, label in enumerate(self.task.per_user)}

    @property
    def schema(self) -> pa.Schema:
        """Schema of a bucket's result: a row of values per user, then a row of facts."""
        return pa.schema(
            {
                "user": pa.string() if self.as_text else pa.int64(),
                **dict.fromkeys(self.value_names, pa.float64()),
                FACTS: pa.string(),
                IDS: pa.list_(_ID),
            }
        )

    def evaluate(self, lists: pa.Table, others: pa.Table) -> pa.Table:
        """Return the values and facts of a bucket, from its rows of the lists and other tables."""
        with closing(connect(config={"threads": 1})) as connection:
            bucket = _Bucket(connection, self)
            values = bucket.evaluate(lists, others)
        ids = pa.concat_tables([pa.schema(list(_ID)).empty_table(), *bucket.ids])
        inside = pa.concat_arrays([*ids.to_struct_array().chunks, pa.array([], _ID)])
        nested = pa.ListArray.from_arrays([0, len(inside)], inside)
        facts = pa.table({FACTS: [as_json(bucket.facts)], IDS: nested})
        tables = [] if values is None else [values.cast(pa.schema(list(self.schema)[:-2]))]
        return pa.concat_tables(
            [self.schema.empty_table(), *tables, facts], promote_options="default"
        )


@dataclass
class _Bucket:
    """Facts of a bucket; it has the problems of the first invalid table."""

    connection: DuckDBPyConnection
    plan: Plan
    facts: Facts = field(default_factory=Facts)
    ids: list[pa.Table] = field(default_factory=list)

    def evaluate(self, lists: pa.Table, others: pa.Table) -> pa.Table | None:
        """Return the values of users; None if they are not scored."""
        tables = {}
        for name, table in self.plan.tables.items():
            rows, origin = _rows_of(name, table, lists, others)

            def row_name(row: int, origin: Ints = origin) -> str:
                return row_mark(int(origin[row]))

            try:
                relation = _RELATIONS[name]
                tables[relation] = self._read(name, replace(table, rows=rows, row_name=row_name))
            except InputError as error:
                self.facts.problems[name] = list(error.problems)
                return None
        if "truth" not in tables:
            return None
        self._count(tables)
        if not self.plan.scores:
            return None
        result = evaluate_or_refuse(Block.from_tables(**tables), self.plan.task)
        if not isinstance(result, Part):
            self.facts.failures.append(result)
            return None
        self._count_values(result)
        labels = self.plan.value_names
        values = select_evaluated(result.values, self.plan.task).select("user", *labels.values())
        return values.to_arrow().rename_columns(["user", *labels])

    def _read(self, name: str, table: InputTable) -> pa.Table:
        """Read and check a table as the library does; return its rows."""
        connection, plan, counts = self.connection, self.plan, self.facts.counts
        if name == "users":
            read_users(connection, table)
            return connection.sql("SELECT DISTINCT user FROM source").to_arrow_table()
        if name == "recs":
            sink, conventions = InMemorySink(), plan.task.conventions
            loaded = load_recommendations(
                connection, table, plan.policies, conventions, sink.collect
            )
            source, quality, rows = loaded.source, loaded.describe(), sink.table
            self.facts.first["order"] = quality["order"]
            counts["copied_rows"] = quality["duplicates"]["rows"]
            counts["copied_users"] = quality["duplicates"]["users"]
        elif name == "truth":
            exclude = plan.task.conventions.exclude
            source, _ = read_truth(connection, table, plan.policies, is_part=True, exclude=exclude)
            grade = "grade" if "grade" in source.columns else "1.0::DOUBLE AS grade"
            query = f"SELECT user, item, {grade}, position AS place FROM source"
            rows = connection.sql(query).to_arrow_table()
            counts["truth_left"] = len(rows)
        else:
            source = read_train(connection, table, may_be_empty=True)
            rows = connection.sql("SELECT DISTINCT user, item FROM source").to_arrow_table()
        counts[f"rows of {name}"] = len(rows) if name == "recs" else source.rows
        for ids in source.rewritten:
            self.facts.rewritten[name, ids.column] = ids.rows
            self.facts.examples[name, ids.column] = ids.example
        return rows

    def _count(self, tables: Mapping[str, pa.Table]) -> None:
        """Count ids, grades, lengths of lists, and items of train."""
        connection, facts = self.connection, self.facts
        lists = Block.from_tables(tables["lists"], tables["truth"]).lists_of(0).table
        relations = {"known": tables["truth"].select(["user"]), **tables, "lists": lists}
        for name, rows in relations.items():
            connection.register("train" if name == "train" else f"read_{name}", rows)
        views = {name: f"read_{name}" for name in ("lists", "truth", "known")}
        share_id_types(connection, views)
        ids = DuckDBIds(connection)
        facts.counts["users_listed"], facts.counts["users_met"] = ids.count("user")
        ids.count("item")  # creates `items_matched`
        for side, first in zip(("listed", "known"), ids.first_ids("user"), strict=True):
            facts.first |= {} if first is None else {f"user {side}": first}
            self._add_ids(side, f"SELECT id, 1 AS n FROM items_matched WHERE {side}")
            alone = f"users_matched WHERE listed <> known AND {side}"
            self._add_ids(f"user {side}", f"SELECT id, 1 AS n FROM {alone}")
        for name, users in (
            ("users_known", "users_matched WHERE known"),
            ("named", "known WHERE user IN (SELECT id FROM users_matched)"),
        ):
            (facts.counts[name],) = self._row(f"SELECT count(*) FROM {users}")
        for relation in ("lists", "truth"):
            lengths = (
                f"SELECT n, count(*) FROM (SELECT count(*) AS n FROM {relation} GROUP BY user)"
            )
            for n, users_of_n in connection.execute(f"{lengths} GROUP BY n").fetchall():
                facts.lengths[relation, n] = users_of_n
        grades = "SELECT DISTINCT grade FROM truth WHERE grade >= 0 ORDER BY grade"
        rows = connection.execute(f"{grades} LIMIT {MAX_COUNTED_GRADES + 1}").fetchall()
        facts.grades = {grade for (grade,) in rows}
        (facts.highest,) = self._row("SELECT coalesce(max(grade), '-inf'::DOUBLE) FROM truth")
        if self.plan.catalogue is not None:
            connection.register("items", self.plan.catalogue)
            rows, users, _, first = ids.unknown_items()
            facts.counts |= {"unknown_rows": rows, "unknown_users": users}
            facts.first |= {} if first is None else {"unknown": tuple(first)}
        if "train" in tables:
            users_of_item = "item AS id, count(DISTINCT user) AS n FROM train GROUP BY item"
            self._add_ids("train", f"SELECT {users_of_item}")
            (facts.counts["train_users"],) = self._row("SELECT count(DISTINCT user) FROM train")
            truth, train = (pl.DataFrame(tables[name]).lazy() for name in ("truth", "train"))
            facts.overlap["train"] = count_train_overlap(truth, train, of_requests=False)
            listed, ks = pl.DataFrame(lists).lazy(), self.plan.task.cutoffs
            facts.counts |= count_train_items(listed, truth, train, ks, of_requests=False)

    def _count_values(self, part: Part) -> None:
        """Count users and lists, and sum the values of each label."""
        task, facts = self.plan.task, self.facts
        facts.counts |= part.counts
        facts.counts["n_evaluated"] = len(select_evaluated(part.values, task))
        facts.lists, facts.exposures = part.lists, exposures_with(part.exposures, None)
        for name, (label, conventions) in task.columns.items():
            defined = part.values.filter(pl.col(name).is_not_null())
            parts = [defined[p].to_numpy() for p in part_names(name) if p in defined.columns]
            undefined, bounds = label.conventions(conventions).undefined, label.bounds(conventions)
            facts.totals[name] = compute_totals(defined[name].to_numpy(), parts, undefined, bounds)

    def _row(self, query: str) -> tuple[Any, ...]:
        return only_row(self.connection, query)

    def _add_ids(self, kind: str, query: str) -> None:
        """Add the ids of a kind, with a number for each."""
        ids = "SELECT $kind AS kind, CAST(id AS VARCHAR) AS id, CAST(n AS BIGINT) AS n"
        query = f"{ids} FROM ({query}) WHERE id IS NOT NULL"
        rows = self.connection.sql(query, params={"kind": kind}).to_arrow_table()
        self.ids.append(rows.cast(pa.schema(list(_ID))))


_RELATIONS = {"recs": "lists", "truth": "truth", "users": "known", "train": "train"}


def _rows_of(
    name: str, table: InputTable, lists: pa.Table, others: pa.Table
) -> tuple[pa.Table, Ints]:
    """Return the rows of a table in their original order, and their origins."""
    rows = lists if name == "recs" else others.filter(pc.equal(others.column("side"), name))
    origin = rows.column(ORIGIN).to_numpy()
    several = SEQUENCE in rows.schema.names and not rows.column(SEQUENCE).null_count
    keys = (rows.column(SEQUENCE).to_numpy(), origin) if several else (origin,)
    if np.any(origin[1:] <= origin[:-1]):
        order = np.lexsort(keys)
        rows, origin = rows.take(pa.array(order)), origin[order]
    assert table.rows is not None
    names = table.rows.schema.names
    columns = [rows.column(f"{name}_{number}") for number in range(len(names))]
    return pa.table(columns, names=names), origin
