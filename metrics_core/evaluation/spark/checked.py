"""A bucket of raw tables: the worker reads, validates and ranks them like whole tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.load_tables import InMemorySink, load_recommendations
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.quality import MAX_COUNTED_GRADES, rewritten_ids
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.side_data import read_train, read_truth, read_users
from concord.metrics_core.errors import InputError
from concord.metrics_core.evaluation.diagnostics import (
    count_list_issues,
    count_own_ids,
    count_train_overlap,
)
from concord.metrics_core.evaluation.spark.bucket import Bucket, Plan
from concord.metrics_core.evaluation.spark.facts import row_mark
from concord.metrics_core.metrics.judged import Ints


@dataclass(frozen=True)
class CheckedPlan(Plan):
    """A plan for raw tables.

    Attributes
    ----------
    tables : Mapping[str, InputTable]
        The tables without rows.
    policies : Policies
        Policies for unusual content.
    catalogue : Table or None
        Items; None without a catalogue.
    """

    tables: Mapping[str, InputTable] = field(default_factory=dict)
    policies: Policies = field(default_factory=Policies)
    catalogue: pa.Table | None = None

    @property
    def size(self) -> int:
        """Bytes that every worker gets."""
        return super().size + (0 if self.catalogue is None else self.catalogue.nbytes)

    def bucket(self, connection: DuckDBPyConnection) -> Bucket:
        """Return the evaluator of one bucket."""
        return CheckedBucket(connection, self, checked_plan=self)


@dataclass(kw_only=True)
class CheckedBucket(Bucket):
    """A bucket whose tables are validated; it has the problems of the first invalid table."""

    checked_plan: CheckedPlan

    def read(self, name: str, rows: pa.Table, origin: Ints) -> None:
        """Read and check a table as the library does."""

        def row_name(row: int) -> str:
            return row_mark(int(origin[row]))

        try:
            self._read(name, replace(self.checked_plan.tables[name], rows=rows, row_name=row_name))
        except InputError as error:
            self.facts.problems = {name: list(error.problems)}

    def _read(self, name: str, table: InputTable) -> None:
        connection, plan = self.connection, self.checked_plan
        if name == "recs":
            sink = InMemorySink()
            loaded = load_recommendations(
                connection, table, plan.policies, plan.task.conventions, sink.collect
            )
            quality = loaded.describe()
            connection.register("ranked", sink.table)
            self.facts.rows[name] = len(sink.table)
            self.facts.order = quality["order"]
            copies = quality["duplicates"]
            self.facts.counts["copied_rows"] = copies["rows"]
            self.facts.counts["copied_users"] = copies["users"]
            self.facts.rewritten[name] = rewritten_ids(loaded.source)
            return
        if name == "truth":
            exclude = plan.task.conventions.exclude
            source, _ = read_truth(connection, table, plan.policies, is_part=True, exclude=exclude)
            grade = "grade" if "grade" in source.columns else "1.0::DOUBLE AS grade"
            self.keep("judgements", f"SELECT user, item, {grade}, position AS place FROM source")
            (n_left,) = only_row(connection, "SELECT count(*) FROM judgements")
            self.facts.counts["truth_left"] = n_left
            self.facts.rewritten[name] = rewritten_ids(source)
        elif name == "users":
            read_users(connection, table)
            self.keep("knowns", "SELECT DISTINCT user FROM source")
            return
        else:
            source = read_train(connection, table, may_be_empty=True)
            self.keep("train", "SELECT DISTINCT user, item FROM source")
        self.facts.rows[name] = source.rows

    def count_tables(self) -> None:
        """Count ids, grades and unknown items."""
        plan, facts = self.checked_plan, self.facts
        if plan.catalogue is not None:
            self.connection.register("items", plan.catalogue)
        for side, relation in (("listed", "lists"), ("known", "truth")):
            self.add(f"item {side}", f"SELECT DISTINCT item AS id, 1 AS n FROM {relation}")
            self.keep(f"users_{side}", f"SELECT DISTINCT user FROM {relation}")
            count, first = only_row(
                self.connection, f"SELECT count(*), min(user) FROM users_{side}"
            )
            facts.counts[f"users_{side}"] = count
            facts.lowest[side == "known"] = first
        for side, other in (("listed", "known"), ("known", "listed")):
            alone = (
                f"SELECT user AS id, 1 AS n FROM users_{side} ANTI JOIN users_{other} USING (user)"
            )
            self.add(f"user {side}", alone)
        matched = "SELECT count(*) FROM users_listed SEMI JOIN users_known USING (user)"
        (facts.counts["users_met"],) = only_row(self.connection, matched)
        occurring = "SELECT user FROM users_listed UNION ALL SELECT user FROM users_known"
        (n_named,) = only_row(
            self.connection, f"SELECT count(*) FROM known SEMI JOIN ({occurring}) USING (user)"
        )
        facts.counts["named"] = n_named
        (facts.highest,) = only_row(self.connection, "SELECT max(grade) FROM truth")
        some = "SELECT DISTINCT grade FROM truth WHERE grade >= 0 ORDER BY grade"
        rows = self.connection.execute(f"{some} LIMIT {MAX_COUNTED_GRADES + 1}").fetchall()
        facts.grades = [grade for (grade,) in rows]
        for name, relation in (("recs", "lists"), ("truth", "truth")):
            per_user = f"SELECT count(*) AS n FROM {relation} GROUP BY user"
            lengths = f"SELECT n, count(*) FROM ({per_user}) GROUP BY n"
            facts.lengths[name] = self.connection.execute(lengths).fetchall()
        lists, truth = (self.connection.view(name).pl().lazy() for name in ("lists", "truth"))
        facts.counts["own_id"] = count_own_ids(lists, truth)
        if plan.scores:
            self._count_issues()
        if plan.catalogue is not None:
            self._count_unknown()
        if "train" in plan.tables:
            self.add(
                "train", "SELECT item AS id, count(DISTINCT user) AS n FROM train GROUP BY item"
            )
            (users,) = only_row(self.connection, "SELECT count(DISTINCT user) FROM train")
            facts.counts["train_users"] = users

    def _count_issues(self) -> None:
        has_train = "train" in self.checked_plan.tables
        has_scores = "score" in self.connection.view("lists").columns
        conventions = self.checked_plan.task.conventions
        issues = count_list_issues(
            self.connection,
            has_train=has_train,
            score_dtype=conventions.score_dtype if has_scores else None,
            ks=self.checked_plan.task.cutoffs,
        )
        self.facts.issues = {
            name: None if counts is None else [*counts.items()]
            for name, counts in vars(issues).items()
        }
        if has_train:
            overlap = count_train_overlap(self.connection, of_requests=False)
            self.facts.overlap = (
                overlap.rows,
                overlap.users,
                overlap.truth_rows,
                overlap.train_rows,
                overlap.shares_users,
            )

    def _count_unknown(self) -> None:
        """Count the items that are missing in the catalogue."""
        self.keep(
            "unknown_rows",
            """SELECT user, item FROM lists
               ANTI JOIN (SELECT CAST(item AS VARCHAR) AS item FROM items) AS items
               ON CAST(lists.item AS VARCHAR) = items.item WHERE lists.item IS NOT NULL""",
        )
        rows, users, first = only_row(
            self.connection,
            "SELECT count(*), count(DISTINCT user), min((user, item)) FROM unknown_rows",
        )
        self.facts.counts |= {"unknown_rows": rows, "unknown_users": users}
        self.facts.unknown = None if first is None else list(first)
        self.add("item unknown", "SELECT DISTINCT item AS id, 1 AS n FROM unknown_rows")
