"""One bucket of users, inside a worker: read, checked, ranked and scored as a whole table is on one machine."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
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
from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.metrics.catalogue import is_pooled
from concord.metrics_core.reading.background import read_train, read_users
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.columns.numbers import as_arrow
from concord.metrics_core.reading.loaded import SHOWN, InMemory, keep_lists
from concord.metrics_core.reading.rules.policies import Policies
from concord.metrics_core.reading.truth import read_truth
from concord.metrics_core.scoring.partition import (
    FOUND,
    KNOWN,
    LISTED,
    RELEVANT,
    Part,
    Task,
    count_users,
    evaluate_partition,
    evaluated,
    judged_at,
    part_names,
)
from concord.metrics_core.scoring.summary import totals_of
from concord.metrics_core.spark.facts import Facts, mark
from concord.metrics_core.spark.frames import ORIGIN, SEQUENCE

FACTS, IDS = "facts", "ids"  # columns beside the values; no value has such a name
USER = "user"
_RELATIONS = {"recs": "ranked", "truth": "judgements", "train": "train"}
_ID = pa.struct([("of", pa.string()), ("id", pa.string()), ("n", pa.int64())])


@dataclass(frozen=True)
class Plan:
    """What is done with every bucket, the same for all; it travels to the workers, and is checked for its size.

    tables    : as `Side.table`, in the order in which they are read
    scores    : is the task computed? Else the tables are only read and checked
    as_text   : are the ids of users text in all of them?
    catalogue : the items; None: none was given
    numbers   : item, item_number: of all items, for metrics beyond accuracy
    loaded    : were the tables read and checked before, as the stages that load do it?
    """

    tables: Mapping[str, InputTable]
    policies: Policies
    task: Task
    scores: bool
    as_text: bool
    catalogue: pa.Table | None = None
    numbers: pa.Table | None = None
    loaded: bool = False


def value_columns(task: Task) -> dict[str, pa.DataType]:
    """The columns of the values of a partition, but for the user's."""
    labels = {str(label): (label, task.conventions) for label in task.per_user}
    others = {d.column: (d.label, d.conventions) for d in task.definitions}
    named = labels | others
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
        bucket = _Bucket(connection, plan)
        part = bucket.evaluated(lists, others)
        return bucket.table(part)


@dataclass
class _Bucket:
    connection: DuckDBPyConnection
    plan: Plan
    facts: Facts = field(default_factory=Facts)
    ids: list[tuple[str, str, int]] = field(default_factory=list)

    def evaluated(self, lists: pa.Table, others: pa.Table) -> Part | None:
        """None where there are problems, or nothing is scored."""
        try:
            for name, table in self.plan.tables.items():
                held = _of_table(table, name, lists, others)
                if self.plan.loaded:
                    self.connection.register(_RELATIONS[name], held.held)
                else:
                    self._read(name, held)
        except InputError as error:
            self.facts.problems = {name: list(error.problems)}
            return None
        self._complete()
        if not self.plan.loaded:
            self._tell_ids()
        if not self.plan.scores:
            return None
        try:
            part = evaluate_partition(self.connection, self.plan.task)
        except ScoringError as error:
            self.facts.refusal = error.refusal
            return None
        self._tell_values(part)
        return part

    def _read(self, name: str, table: InputTable) -> None:
        connection, plan = self.connection, self.plan
        if name == "recs":
            kept = InMemory()
            keep_lists(connection, table, plan.policies, plan.task.conventions, kept.keep)
            connection.register("ranked", kept.table)
            self.facts.rows[name] = len(kept.table)
            return
        if name == "truth":
            source, _ = read_truth(connection, table, plan.policies, is_part=True)
            grade = "grade" if "grade" in source.columns else "1.0::DOUBLE AS grade"
            self._keep("judgements", f"SELECT user, item, {grade}, position AS place FROM source")
            (left,) = only_row(connection, "SELECT count(*) FROM judgements")
            self.facts.counts["truth_left"] = left
        elif name == "users":
            read_users(connection, table)
            self._keep("knowns", "SELECT DISTINCT user FROM source")
            return
        else:
            source = read_train(connection, table, may_be_empty=True)
            self._keep("train", "SELECT DISTINCT user, item FROM source")
        self.facts.rows[name] = source.rows

    def _keep(self, name: str, query: str) -> None:
        self.connection.execute(f"CREATE TABLE {name} AS {query}")

    def _complete(self) -> None:
        """What evaluating needs beside the tables that were read."""
        tables, plan = self.plan.tables, self.plan
        if "truth" not in tables:
            self._keep(
                "judgements", "SELECT user, item, 1.0::DOUBLE AS grade FROM ranked WHERE FALSE"
            )
        if "users" not in tables:
            self._keep("knowns", "SELECT DISTINCT user FROM judgements")
        if "train" not in tables:
            self._keep("train", "SELECT user, item FROM ranked WHERE FALSE")
        nothing = pa.table({"item": pa.array([], pa.string())})
        self.connection.register("items", nothing if plan.catalogue is None else plan.catalogue)
        if plan.numbers is not None:
            self.connection.register("item_numbers", plan.numbers)
        views = {"lists": "ranked", "truth": "judgements", "known": "knowns"}
        share_id_types(self.connection, views)

    def _tell_ids(self) -> None:
        facts = self.facts
        for side, relation in (("listed", "lists"), ("known", "truth")):
            self._add(f"item {side}", f"SELECT DISTINCT item AS id, 1 AS n FROM {relation}")
            users = f"(SELECT DISTINCT user FROM {relation})"
            count, first = only_row(self.connection, f"SELECT count(*), min(user) FROM {users}")
            facts.counts[f"users_{side}"] = count
            facts.lowest[side == "known"] = first
        (met,) = only_row(
            self.connection,
            "SELECT count(*) FROM (SELECT DISTINCT user FROM lists) SEMI JOIN truth USING (user)",
        )
        facts.counts["users_met"] = met
        for side, relation, other in (("listed", "lists", "truth"), ("known", "truth", "lists")):
            alone = f"SELECT DISTINCT user FROM {relation} ANTI JOIN {other} USING (user)"
            self._add(f"user {side}", f"SELECT user AS id, 1 AS n FROM ({alone})")
        there = "SELECT user FROM lists UNION ALL SELECT user FROM truth"
        (named,) = only_row(
            self.connection, f"SELECT count(*) FROM known SEMI JOIN ({there}) USING (user)"
        )
        facts.counts["named"] = named
        (facts.highest,) = only_row(self.connection, "SELECT max(grade) FROM truth")
        some = f"SELECT DISTINCT grade FROM truth ORDER BY grade LIMIT {SHOWN + 1}"
        facts.grades = [grade for (grade,) in self.connection.execute(some).fetchall()]
        if self.plan.catalogue is not None:
            self._tell_unknown()
        if "train" in self.plan.tables:
            self._add(
                "train", "SELECT item AS id, count(DISTINCT user) AS n FROM train GROUP BY item"
            )
            (users,) = only_row(self.connection, "SELECT count(DISTINCT user) FROM train")
            facts.counts["train_users"] = users

    def _tell_unknown(self) -> None:
        """Of items that the catalogue lacks."""
        self._keep(
            "strange",
            """SELECT user, item FROM lists ANTI JOIN (SELECT CAST(item AS VARCHAR) AS item FROM items) AS items
               ON CAST(lists.item AS VARCHAR) = items.item WHERE lists.item IS NOT NULL""",
        )
        rows, users, first = only_row(
            self.connection, "SELECT count(*), count(DISTINCT user), min((user, item)) FROM strange"
        )
        self.facts.counts |= {"unknown_rows": rows, "unknown_users": users}
        self.facts.unknown = None if first is None else list(first)
        self._add("item unknown", "SELECT DISTINCT item AS id, 1 AS n FROM strange")

    def _add(self, of: str, query: str) -> None:
        """Ids, and a number of each."""
        text = f"SELECT CAST(id AS VARCHAR), n FROM ({query}) WHERE id IS NOT NULL"
        found = self.connection.execute(text).fetchall()
        self.ids += [(of, id_, n) for id_, n in found]

    def _tell_values(self, part: Part) -> None:
        task, facts = self.plan.task, self.facts
        facts.counts |= count_users(part.values, task)
        facts.counts["users"] = len(part.values)
        facts.counts["kept"] = len(evaluated(part.values, task))
        labels = {str(label): (label, task.conventions) for label in task.per_user}
        others = {d.column: (d.label, d.conventions) for d in task.definitions}
        for name, (label, conventions) in (labels | others).items():
            kept = part.values.filter(pl.col(name).is_not_null())
            parts = [kept[p].to_numpy() for p in part_names(name) if p in kept.columns]
            own = label.conventions(conventions)
            facts.totals[name] = totals_of(kept[name].to_numpy(), parts, own.undefined)
        for name, exposure in part.exposures.items():
            facts.exposures[name] = exposure.n_users
            held = np.flatnonzero(exposure.counts)
            numbers = zip(held.tolist(), exposure.counts[held].tolist(), strict=True)
            self.ids += [(f"exposure {name}", str(number), n) for number, n in numbers]

    def table(self, part: Part | None) -> pa.Table:
        """As `schema_of` says."""
        schema = schema_of(self.plan)
        told = {
            FACTS: [self.facts.as_json()],
            IDS: [[{"of": of, "id": id_, "n": n} for of, id_, n in self.ids]],
        }
        summary = _filled(
            schema, {name: pa.array(v, schema.field(name).type) for name, v in told.items()}, 1
        )
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


def _of_table(table: InputTable, name: str, lists: pa.Table, others: pa.Table) -> InputTable:
    """The rows of a table, in the order in which they stood there."""
    assert table.held is not None
    rows = lists if name == "recs" else others.filter(pc.equal(others.column("side"), name))
    prefix = "" if name == "recs" else f"{name}_"
    origin = rows.column(ORIGIN).to_numpy()
    several = SEQUENCE in rows.schema.names and not rows.column(SEQUENCE).null_count
    keys = (rows.column(SEQUENCE).to_numpy(), origin) if several else (origin,)
    if np.any(origin[1:] < origin[:-1]) or np.any(origin[1:] == origin[:-1]):
        order = np.lexsort(keys)
        rows, origin = rows.take(as_arrow(order)), origin[order]
    columns = [rows.column(f"{prefix}{n}") for n in range(len(table.held.schema))]
    held = pa.table(columns, names=table.held.schema.names)
    return replace(table, held=held, row_name=lambda row: mark(int(origin[row])))
