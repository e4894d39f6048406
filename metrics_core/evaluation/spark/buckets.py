"""Tables cut into buckets of whole users, each evaluated by a worker; facts and ids of them all."""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.data.id_matching import FrameIds
from concord.metrics_core.data.relations import connect
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.side_data import Catalogue, number_counted_items
from concord.metrics_core.evaluation.spark.bucket import FACTS, IDS, Plan
from concord.metrics_core.evaluation.spark.facts import Facts
from concord.metrics_core.evaluation.spark.frames import SparkTable
from concord.metrics_core.evaluation.spark.transport import from_json
from concord.metrics_core.metrics.ranked_lists import Items

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 1 << 20  # of all tables, in a bucket on average
MOST_SENT = 64 << 20  # bytes of what every worker gets: catalogue, item numbers, features
MOST_ITEMS = 1 << 21  # that the driver numbers
BUCKET = "bucket"


@dataclass(frozen=True)
class BucketResults:
    """Values and facts of all buckets; computed once, and cached by Spark."""

    plan: Plan
    rows: "DataFrame"

    @cached_property
    def facts(self) -> Facts:
        """The facts of all buckets."""
        rows = self.rows.where(f"{FACTS} IS NOT NULL").select(FACTS).collect()
        each: Iterator[Facts] = (from_json(text) for (text,) in rows)
        return reduce(lambda a, b: a + b, each, Facts())

    @property
    def values(self) -> "DataFrame":
        """The rows of users: user, and the columns of `Plan.value_names`."""
        return self.rows.where(f"{FACTS} IS NULL").drop(FACTS, IDS)

    def ids(self, condition: str) -> "DataFrame":
        """Return kind, id and n of the ids in each bucket that meet a condition."""
        from pyspark.sql import functions as sf

        rows = self.rows.select(sf.explode(IDS).alias("counted")).select("counted.*")
        return rows.where(condition)

    @cached_property
    def items(self) -> pl.DataFrame:
        """All items: id (text), whether each is `listed` and `known`, number of `train` users."""
        ids = self.ids("NOT startswith(kind, 'user')").groupBy("id")
        counts = pl.DataFrame(ids.pivot("kind", ["listed", "known", "train"]).sum("n").toArrow())
        return counts.with_columns(pl.col("listed", "known").is_not_null()).sort("id")


def evaluate_buckets(plan: Plan, tables: Sequence[SparkTable], buckets: int) -> BucketResults:
    """Evaluate each bucket with `Plan.evaluate`.

    Raises
    ------
    InputError
        If the data that each worker needs is too large.
    """
    from pyspark.sql import functions as sf
    from pyspark.sql.pandas.types import from_arrow_schema

    _refuse_large(plan)
    keys = sf.array(*map(sf.lit, partition_keys(tables[0].rows.sparkSession, buckets)))
    lists, *others = (
        table.select(
            sf.get(keys, sf.pmod(sf.xxhash64(table.user), sf.lit(buckets)).cast("int")).alias(
                BUCKET
            )
        )
        for table in tables
    )
    empty = lists.where("false").selectExpr(BUCKET, "origin", "'' AS side")
    union = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), others or [empty])

    def evaluate(lists: pa.Table, others: pa.Table) -> pa.Table:
        return plan.evaluate(lists, others)

    rows = (
        lists.repartition(buckets, BUCKET)
        .groupBy(BUCKET)
        .cogroup(union.repartition(buckets, BUCKET).groupBy(BUCKET))
        .applyInArrow(evaluate, from_arrow_schema(plan.schema))
    )
    return BucketResults(plan, rows.persist())


def partition_keys(session: "SparkSession", buckets: int) -> list[int]:
    """Return an integer for each bucket; Spark hashes number n into partition n.

    Plain numbers collide: Spark hashes both of two buckets into the second partition.
    """
    hashed = f"pmod(hash(CAST(id AS INT)), {buckets}) AS partition"
    candidates = session.range(20 * buckets).selectExpr(hashed, "CAST(id AS INT)")
    keys: dict[int, int] = dict(candidates.collect())
    return [keys.get(partition, partition) for partition in range(buckets)]


def bucket_count(rows: int) -> int:
    """Return the number of buckets; no result depends on it."""
    return max(1, math.ceil(rows / ROWS))


def _refuse_large(plan: Plan) -> None:
    if plan.size > MOST_SENT:
        problem = (
            f"every worker would get {plan.size / 2**20:,.0f} MiB of item numbers, "
            "popularity and features, "
            f"and {MOST_SENT >> 20} MiB is the most"
        )
        fix = "leave out the metrics beyond accuracy, or give fewer items or features"
        raise refuse("items", problem, fix)


def number_items(results: BucketResults, catalogue: Catalogue | None) -> Items:
    """Return all items of lists, train and catalogue.

    Raises
    ------
    InputError
        If there are too many items.
    """
    items = results.items.filter(pl.col("listed") | pl.col("train").is_not_null())
    if len(items) > MOST_ITEMS:
        problem = (
            f"lists and train name more than {MOST_ITEMS:,} items, "
            "which the driver and every worker would hold"
        )
        raise refuse("items", problem, "leave out the metrics beyond accuracy")
    train_users = results.facts.counts.get("train_users", 0)
    return number_counted_items(items.select(item="id", users="train"), train_users, catalogue)


@dataclass(frozen=True)
class SparkIds(FrameIds):
    """Ids in the results of buckets; see `IdSource`. The frames hold distinct items."""

    results: BucketResults

    def is_text(self, column: str) -> bool:
        """See `IdSource`."""
        return self.results.plan.as_text if column == "user" else super().is_text(column)

    def count(self, column: str) -> tuple[int, int]:
        """See `IdSource`."""
        counts = self.results.facts.counts
        users = counts["users_listed"], counts["users_met"]
        return users if column == "user" else super().count(column)

    def first_ids(self, column: str) -> tuple[Any, Any]:
        """See `IdSource`."""
        first = self.results.facts.first
        users = first.get("user listed"), first.get("user known")
        return users if column == "user" else super().first_ids(column)

    def similar_ids(self, column: str, form: str) -> tuple[int, Any]:
        """See `IdSource`; ids of users stay in Spark."""
        from pyspark.sql import functions as sf

        if column == "item":
            return super().similar_ids(column, form)
        query = f"SELECT kind = 'user listed' AS listed, id, {form.format(x='id')} AS form FROM ids"

        def spelled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with closing(connect(config={"threads": 1})) as connection:
                for batch in batches:
                    connection.register("ids", pa.Table.from_batches([batch]))
                    yield from connection.sql(query).to_arrow_table().to_batches()

        unmatched = self.results.ids("startswith(kind, 'user')")
        formed = unmatched.mapInArrow(spelled, "listed boolean, id string, form string")
        here, there = (f"min(CASE WHEN {side} THEN id END)" for side in ("listed", "NOT listed"))
        pairs = formed.groupBy("form").agg(
            *map(sf.expr, (f"{here} AS here", f"{there} AS there", "count_if(listed) AS n"))
        )
        matched = pairs.where("here IS NOT NULL AND there IS NOT NULL")
        ((count, pair),) = matched.selectExpr("sum(n)", "min(struct(here, there))").collect()
        return count or 0, None if pair is None else tuple(pair)

    def unknown_items(self) -> tuple[Any, ...]:
        """See `IdSource`."""
        counts, catalogue = self.results.facts.counts, self.results.plan.catalogue
        assert catalogue is not None
        items = self.results.items.filter(pl.col("listed"))["id"]
        unknown = ~items.is_in(pl.Series(catalogue["item"]).implode())
        first = self.results.facts.first.get("unknown")
        return counts["unknown_rows"], counts["unknown_users"], int(unknown.sum()), first
