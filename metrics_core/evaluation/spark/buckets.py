"""Tables cut into buckets of whole users, each evaluated by a worker; facts and ids of them all."""

import math
import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from concord.metrics_core.data.relations import connect, in_memory
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.item_lists import number_counted_items
from concord.metrics_core.evaluation.side_data import Catalogue
from concord.metrics_core.evaluation.spark.bucket import FACTS, IDS, Plan
from concord.metrics_core.evaluation.spark.facts import Facts
from concord.metrics_core.evaluation.spark.frames import SparkTable
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
        each = (pickle.loads(zlib.decompress(content)) for (content,) in rows)
        return reduce(lambda a, b: a + b, each, Facts())

    @property
    def values(self) -> "DataFrame":
        """The rows of users: user, and the columns of `Plan.value_names`."""
        return self.rows.where(f"{FACTS} IS NULL").drop(FACTS, IDS)

    def ids(self, *kinds: str) -> "DataFrame":
        """Return kind, id and n of the ids of some kinds in each bucket."""
        from pyspark.sql import functions as sf

        rows = self.rows.select(sf.explode(IDS).alias("counted")).select("counted.*")
        return rows.where(sf.col("kind").isin(*kinds))

    def distinct(self, kind: str) -> "DataFrame":
        """Return the distinct ids of a kind."""
        return self.ids(kind).select("id").distinct()


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


def number_items(results: BucketResults, catalogue: Catalogue | None) -> tuple[Items, pa.Table]:
    """Return all items of lists, train and catalogue, and their numbers.

    Raises
    ------
    InputError
        If there are too many items.
    """
    kinds = "item listed", "train"
    counted = results.ids(*kinds).groupBy("id").pivot("kind", [*kinds]).sum("n")
    counts = counted.limit(MOST_ITEMS + 1).toArrow()
    if len(counts) > MOST_ITEMS:
        problem = (
            f"lists and train name more than {MOST_ITEMS:,} items, "
            "which the driver and every worker would hold"
        )
        raise refuse("items", problem, "leave out the metrics beyond accuracy")
    had = pa.table({"item": counts["id"].cast(pa.string()), "users": counts["train"]})
    known = results.plan.catalogue
    features, groups = (None, None) if catalogue is None else (catalogue.features, catalogue.groups)
    with in_memory() as connection:
        connection.register("had", had)
        connection.register("items", had.select(["item"]).slice(0, 0) if known is None else known)
        train_users = results.facts.counts.get("train_users", 0)
        return number_counted_items(connection, train_users, features, groups)


_TWINS = (
    "min(CASE WHEN listed THEN id END) AS here",
    "min(CASE WHEN NOT listed THEN id END) AS there",
    "count_if(listed) AS n",
)


@dataclass(frozen=True)
class SparkIds:
    """Ids in the results of buckets; see `IdSource`. text : column -> True if its ids are text."""

    results: BucketResults
    text: Mapping[str, bool]

    def is_text(self, column: str) -> bool:
        """See `IdSource`."""
        return self.text[column]

    def count(self, column: str) -> tuple[int, int]:
        """See `IdSource`."""
        if column == "user":
            counts = self.results.facts.counts
            return counts["users_listed"], counts["users_met"]
        sides = self._sides("item").selectExpr(
            "count_if(listed) AS listed", "count_if(listed AND known) AS known"
        )
        ((listed, known),) = sides.collect()
        return listed, known

    def first_ids(self, column: str) -> tuple[Any, Any]:
        """See `IdSource`."""
        if column == "item":
            value = "id" if self.text["item"] else "CAST(id AS BIGINT)"
            sides = [f"min(CASE WHEN {side} THEN {value} END)" for side in ("listed", "known")]
            ((listed, known),) = self._sides("item").selectExpr(*sides).collect()
            return listed, known
        first = self.results.facts.first
        return first.get("user listed"), first.get("user known")

    def similar_ids(self, column: str, form: str) -> tuple[int, Any]:
        """See `IdSource`; whole numbers have one spelling."""
        if not self.text[column]:
            return 0, None
        unmatched = self._sides(column).where("listed <> known")
        query = f"SELECT id, listed, {form.format(x='id')} AS form FROM ids"

        def spelled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with closing(connect(config={"threads": 1})) as connection:
                for batch in batches:
                    connection.register("ids", pa.Table.from_batches([batch]))
                    yield from connection.sql(query).to_arrow_table().to_batches()

        formed = unmatched.select("id", "listed").mapInArrow(
            spelled, "id string, listed boolean, form string"
        )
        twins = (
            formed.groupBy("form")
            .agg(*map(_expr, _TWINS))
            .where("here IS NOT NULL AND there IS NOT NULL")
        )
        ((number, pair),) = twins.selectExpr("sum(n)", "min(struct(here, there))").collect()
        return number or 0, None if pair is None else tuple(pair)

    def unknown_items(self) -> tuple[Any, ...]:
        """See `IdSource`."""
        counts, first = self.results.facts.counts, self.results.facts.first
        items = self.results.distinct("item unknown").count()
        return counts["unknown_rows"], counts["unknown_users"], items, first.get("unknown")

    def _sides(self, column: str) -> Any:
        """Return id, listed, known of each id; for users only those that occur in one of both."""
        rows = self.results.ids(f"{column} listed", f"{column} known")
        sides = [f"bool_or(kind = '{column} {side}') AS {side}" for side in ("listed", "known")]
        return rows.groupBy("id").agg(*map(_expr, sides))


def _expr(text: str) -> Any:
    from pyspark.sql import functions as sf

    return sf.expr(text)
