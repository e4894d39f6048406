"""A bucket of users in a worker, scored like a whole table, with counts that can be merged."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import connect, share_id_types
from concord.metrics_core.errors import (
    AffectedRows,
    InputError,
    Problem,
    Refusal,
    ScoringError,
    merge_refusals,
)
from concord.metrics_core.evaluation.diagnostics import COLUMNS as WEIGHTS
from concord.metrics_core.evaluation.diagnostics import KNOWN, LISTED, N_HITS, RELEVANT, list_kinds
from concord.metrics_core.evaluation.partition import (
    Part,
    Task,
    count_users,
    evaluate_partition,
    judged_at,
    part_names,
    select_evaluated,
)
from concord.metrics_core.evaluation.summary import Totals, compute_totals
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.label import is_pooled
from concord.metrics_core.stats.mean_interval import ValueSpread

OWN_METRICS = "#own"  # no table is called so
_ROW_MARK = re.compile("\x02([0-9]+)\x03")


@dataclass
class Facts:
    """Counts, problems and sums of one bucket.

    Attributes
    ----------
    problems : dict of str to list of Problem
        Problems of the first table that has any, by its name; of user-defined metrics under
        `OWN_METRICS`.
    rows : dict of str to int
        Number of rows of each table.
    refusal : Refusal or None
        Why the users were not scored.
    counts : dict of str to int
        Counts that can be added.
    totals : dict of str to Totals
        Totals of the mean of each column.
    highest : float or None
        Highest grade of the ground truth.
    grades : list of float
        Distinct grades, at most one more than are shown.
    lowest : list
        First user of the lists, and of the ground truth.
    unknown : list or None
        First user and item that the catalogue lacks.
    exposures : dict of str to int
        Number of users with a list, by label.
    lists : list of tuple
        Kinds of lists, each with its number; see `ListCounts`.
    issues : dict
        Pairs of rank (or k) and number, by field of `ListIssues`; None if not counted.
    overlap : tuple or None
        First four fields of `TrainOverlap`.
    lengths : dict
        Pairs of a number of rows and the number of users with so many, by table.
    order : str
        What orders the lists.
    rewritten : dict
        Ids that were read without `.0`, by table and column.
    """

    problems: dict[str, list[Problem]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    refusal: Refusal | None = None
    counts: dict[str, int] = field(default_factory=dict)
    totals: dict[str, Totals] = field(default_factory=dict)
    highest: float | None = None
    grades: list[float] = field(default_factory=list)
    lowest: list[Any] = field(default_factory=lambda: [None, None])
    unknown: list[Any] | None = None
    exposures: dict[str, int] = field(default_factory=dict)
    lists: list[tuple[int, bool, bool, int]] = field(default_factory=list)
    issues: dict[str, list[tuple[int, int]] | None] = field(default_factory=dict)
    overlap: tuple[int, int, int, bool] | None = None
    lengths: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    order: str = ""
    rewritten: dict[str, dict[str, Any]] = field(default_factory=dict)

    def as_json(self) -> str:
        """Return the facts as JSON; numbers keep all bits."""
        return json.dumps(asdict(self), default=_plain)

    @classmethod
    def from_json(cls, text: str) -> "Facts":
        """Return the facts that `as_json` wrote."""
        content = json.loads(text)
        problems = {
            name: [_problem(each) for each in items]
            for name, items in content.pop("problems").items()
        }
        refusal = content.pop("refusal")
        totals = {
            name: Totals(each["n_undefined"], tuple(each["sums"]), ValueSpread(**each["spread"]))
            for name, each in content.pop("totals").items()
        }
        return cls(problems, refusal=_refusal(refusal), totals=totals, **content)


def _plain(value: Any) -> Any:
    return value.item()  # a number of NumPy


def _problem(content: Mapping[str, Any]) -> Problem:
    location, affected_content = content["location"], content["affected"]
    where = location if isinstance(location, str) else tuple(location)
    if affected_content is None:
        return Problem(where, content["message"], content["fix"])
    rule, first = tuple(affected_content["rule"]), tuple(affected_content["first"])
    affected = AffectedRows(
        rule,
        first,
        affected_content["rows"],
        affected_content["users"],
        affected_content["message"],
    )
    return Problem(where, content["message"], content["fix"], affected)


def _refusal(content: Mapping[str, Any] | None) -> Refusal | None:
    if content is None:
        return None
    return Refusal(
        **{**content, "order": tuple(content["order"]), "grades": tuple(content["grades"])}
    )


def row_mark(origin: int) -> str:
    """Return the name of a row inside a bucket; names sort as the rows do."""
    return f"\x02{origin:019d}\x03"


def with_row_names(problem: Problem, words: Callable[[int], str]) -> Problem:
    """Return the problem with the names of its rows for the user."""
    return replace(
        problem, location=_ROW_MARK.sub(lambda match: words(int(match[1])), problem.where)
    )


def raise_refusals(facts: Sequence[Facts]) -> None:
    """Raise an error if users of any bucket were not scored.

    Raises
    ------
    InputError
        If a user-defined metric fails.
    ScoringError
        If the conventions refuse users.
    """
    if problems := [p for each in facts for p in each.problems.get(OWN_METRICS, [])]:
        raise InputError(merged(problems))
    if refusals := [each.refusal for each in facts if each.refusal is not None]:
        raise ScoringError(merge_refusals(refusals))


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of a table, merged from those of its buckets."""
    every = list(problems)
    affecting = [(each.affected, each) for each in every if each.affected is not None]
    unread = [(a.first, each) for a, each in affecting if a.rule == (-1,)]
    if unread:  # the rest of the table was not checked
        return [each for _, each in sorted(unread, key=lambda row: row[0])]
    of_rule: dict[tuple[int, ...], list[tuple[AffectedRows, Problem]]] = {}
    for affected, each in affecting:
        of_rule.setdefault(affected.rule, []).append((affected, each))
    summed = [_summed(of_rule[rule]) for rule in sorted(of_rule)]
    return [*summed, *dict.fromkeys(each for each in every if each.affected is None)]


def _summed(affected_problems: Sequence[tuple[AffectedRows, Problem]]) -> Problem:
    affected, problem = min(affected_problems, key=lambda row: row[0].first)
    rows, users = (
        None if number is None else sum(getattr(each, name) for each, _ in affected_problems)
        for name, number in (("rows", affected.rows), ("users", affected.users))
    )
    whole = replace(affected, rows=rows, users=users)
    return replace(problem, message=whole.message_with_counts, affected=whole)


def added(facts: Sequence[Facts]) -> dict[str, int]:
    """Return the counts, summed over buckets."""
    names = {name for each in facts for name in each.counts}
    return {name: sum(each.counts.get(name, 0) for each in facts) for name in sorted(names)}


def totals_added(facts: Sequence[Facts], name: str) -> Totals:
    """Return the totals of a column over all buckets."""
    first, *others = [each.totals[name] for each in facts if name in each.totals]
    n_undefined, spread = first.n_undefined, first.spread
    sums = [list(numbers) for numbers in first.sums]
    for other in others:
        n_undefined, spread = n_undefined + other.n_undefined, spread + other.spread
        for numbers, more in zip(sums, other.sums, strict=True):
            numbers.extend(more)
    return Totals(n_undefined, tuple(sums), spread)


def lowest(facts: Sequence[Facts], side: int) -> Any:
    """Return the first user of all lists (0), or of the ground truth (1)."""
    return min((each.lowest[side] for each in facts if each.lowest[side] is not None), default=None)


def highest(facts: Sequence[Facts]) -> float | None:
    """Return the highest grade; None if there is none."""
    known = [each.highest for each in facts if each.highest is not None]
    return max(known, default=None)


FACTS, IDS = "facts", "ids"  # columns beside the values; no value has such a name
USER = "user"
ORIGIN = "origin"  # where a row comes from
SEQUENCE = "sequence"  # number of a row among those of its origin
_ID = pa.struct([("of", pa.string()), ("id", pa.string()), ("n", pa.int64())])


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
    numbers : Table or None
        item, item_number of all items, for metrics beyond accuracy.
    """

    columns: Mapping[str, tuple[str, ...]]
    task: Task
    scores: bool
    as_text: bool
    numbers: pa.Table | None = None

    @property
    def size(self) -> int:
        """Number of bytes that each worker receives."""
        items = self.task.items
        arrays = (
            [] if items is None else [items.users, items.in_catalogue, items.features, items.group]
        )
        size = sum(array.nbytes for array in arrays if array is not None)
        return size + (0 if self.numbers is None else self.numbers.nbytes)

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
    counts = [LISTED, RELEVANT, N_HITS, *map(judged_at, task.cutoffs)]
    averaged = {judged_at(k): pa.float64() for k in task.cutoffs}
    return {
        **dict.fromkeys(columns, pa.float64()),
        KNOWN: pa.bool_(),
        **(dict.fromkeys(counts, pa.int64()) | averaged),
        **dict.fromkeys(WEIGHTS if task.conventions.propensity else (), pa.float64()),
        **dict.fromkeys(task.mean_weights, pa.float64()),
        **dict.fromkeys(parts, pa.float64()),
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
            part = evaluate_partition(self.connection, self.plan.task)
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

    def add(self, kind: str, query: str) -> None:
        """Add ids of a kind, with a number for each."""
        ids = f"SELECT $of AS of, CAST(id AS VARCHAR) AS id, CAST(n AS BIGINT) AS n FROM ({query})"
        rows = self.connection.sql(f"{ids} WHERE id IS NOT NULL", params={"of": kind})
        self.ids.append(rows.to_arrow_table())

    def _count_values(self, part: Part) -> None:
        task, facts = self.plan.task, self.facts
        facts.counts |= count_users(part.values, task)
        facts.lists = [(*kind, number) for kind, number in list_kinds(part.values).items()]
        facts.counts["users"] = len(part.values)
        facts.counts["kept"] = len(select_evaluated(part.values, task))
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
