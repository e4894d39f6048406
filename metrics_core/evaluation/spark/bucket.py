"""A bucket of users inside a worker: scored as a whole table is on one machine, with mergeable counts."""

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
    Affected,
    InputError,
    Problem,
    Refusal,
    ScoringError,
    first_of,
)
from concord.metrics_core.evaluation.diagnostics import COLUMNS as WEIGHTS
from concord.metrics_core.evaluation.diagnostics import FOUND, KNOWN, LISTED, RELEVANT, list_kinds
from concord.metrics_core.evaluation.partition import (
    Part,
    Task,
    count_users,
    evaluate_partition,
    evaluated,
    judged_at,
    part_names,
)
from concord.metrics_core.evaluation.summary import Totals, totals_of
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.label import is_pooled
from concord.metrics_core.stats.mean_interval import ValueSpread

OWN_METRICS = "#own"  # no table is called so
_MARK = re.compile("\x02([0-9]+)\x03")


@dataclass
class Facts:
    """Of one bucket.

    problems  : of the first table that has any, by its name; of own metrics under `OWN_METRICS`
    rows      : table -> its rows; `left`: the rows of the truth that its policies leave
    refusal   : why the users were not scored
    counts    : whole numbers that add up
    totals    : column -> what its mean is made of
    highest   : grade of the truth; `grades`: different ones, as many as are shown and one more
    lowest    : the first user of the lists, and of the truth
    unknown   : the first (user, item) that the catalogue lacks
    exposures : label -> users with a list
    lists     : kinds of lists, each with their number: see `ListCounts`
    signs     : name of a count of `ListSigns` -> [rank or k, number]; None: it was not counted
    overlap   : rows, users, rows of the truth and whether users are shared: see `TrainOverlap`
    lengths   : table -> [length, number of users with so many rows]
    order     : what orders the lists
    rewritten : table -> column -> ids that were read without `.0`
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
    signs: dict[str, list[tuple[int, int]] | None] = field(default_factory=dict)
    overlap: tuple[int, int, int, bool] | None = None
    lengths: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    order: str = ""
    rewritten: dict[str, dict[str, Any]] = field(default_factory=dict)

    def as_json(self) -> str:
        """As it travels; numbers keep every bit."""
        return json.dumps(asdict(self), default=_plain)

    @classmethod
    def of_json(cls, text: str) -> "Facts":
        """What `as_json` wrote."""
        held = json.loads(text)
        problems = {
            name: [_problem(each) for each in found] for name, found in held.pop("problems").items()
        }
        refusal = held.pop("refusal")
        totals = {
            name: Totals(each["n_undefined"], tuple(each["sums"]), ValueSpread(**each["spread"]))
            for name, each in held.pop("totals").items()
        }
        return cls(problems, refusal=_refusal(refusal), totals=totals, **held)


def _plain(value: Any) -> Any:
    return value.item()  # a number of NumPy


def _problem(held: Mapping[str, Any]) -> Problem:
    location, told = held["location"], held["affected"]
    where = location if isinstance(location, str) else tuple(location)
    if told is None:
        return Problem(where, held["what"], held["fix"])
    rule, first = tuple(told["rule"]), tuple(told["first"])
    affected = Affected(rule, first, told["rows"], told["users"], told["said"])
    return Problem(where, held["what"], held["fix"], affected)


def _refusal(held: Mapping[str, Any] | None) -> Refusal | None:
    if held is None:
        return None
    return Refusal(**{**held, "at": tuple(held["at"]), "grades": tuple(held["grades"])})


def mark(origin: int) -> str:
    """A row in the words of a bucket: such texts sort as the rows do."""
    return f"\x02{origin:019d}\x03"


def unmarked(problem: Problem, words: Callable[[int], str]) -> Problem:
    """The problem with its rows as messages name them."""
    return replace(problem, location=_MARK.sub(lambda found: words(int(found[1])), problem.where))


def raise_refusals(facts: Sequence[Facts]) -> None:
    """Raise an error if users of any bucket were not scored.

    Raises
    ------
    InputError   : an own metric is wrong
    ScoringError : the conventions refuse users
    """
    if problems := [p for each in facts for p in each.problems.get(OWN_METRICS, [])]:
        raise InputError(merged(problems))
    if refusals := [each.refusal for each in facts if each.refusal is not None]:
        raise ScoringError(first_of(refusals))


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """The problems of a table, from those of its buckets."""
    found = list(problems)
    told = [(each.affected, each) for each in found if each.affected is not None]
    unread = [(a.first, each) for a, each in told if a.rule == (-1,)]
    if unread:  # then nothing else of the table is judged
        return [each for _, each in sorted(unread, key=lambda of: of[0])]
    of_rule: dict[tuple[int, ...], list[tuple[Affected, Problem]]] = {}
    for affected, each in told:
        of_rule.setdefault(affected.rule, []).append((affected, each))
    summed = [_summed(of_rule[rule]) for rule in sorted(of_rule)]
    return [*summed, *dict.fromkeys(each for each in found if each.affected is None)]


def _summed(found: Sequence[tuple[Affected, Problem]]) -> Problem:
    affected, problem = min(found, key=lambda of: of[0].first)
    rows, users = (
        None if number is None else sum(getattr(each, name) for each, _ in found)
        for name, number in (("rows", affected.rows), ("users", affected.users))
    )
    whole = replace(affected, rows=rows, users=users)
    return replace(problem, what=whole.what, affected=whole)


def added(facts: Sequence[Facts]) -> dict[str, int]:
    """The counts of all buckets."""
    names = {name for each in facts for name in each.counts}
    return {name: sum(each.counts.get(name, 0) for each in facts) for name in sorted(names)}


def totals_added(facts: Sequence[Facts], name: str) -> Totals:
    """The totals of a column over all buckets."""
    first, *others = [each.totals[name] for each in facts if name in each.totals]
    n_undefined, spread = first.n_undefined, first.spread
    sums = [list(numbers) for numbers in first.sums]
    for other in others:
        n_undefined, spread = n_undefined + other.n_undefined, spread + other.spread
        for numbers, more in zip(sums, other.sums, strict=True):
            numbers.extend(more)
    return Totals(n_undefined, tuple(sums), spread)


def lowest(facts: Sequence[Facts], place: int) -> Any:
    """The first user of all lists (0), or of the truth (1)."""
    return min(
        (each.lowest[place] for each in facts if each.lowest[place] is not None), default=None
    )


def highest(facts: Sequence[Facts]) -> float | None:
    """The highest grade."""
    known = [each.highest for each in facts if each.highest is not None]
    return max(known, default=None)


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
        facts.lists = [(*kind, number) for kind, number in list_kinds(part.values).items()]
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
