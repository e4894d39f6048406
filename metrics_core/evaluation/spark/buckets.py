"""Tables cut into buckets of whole users, each evaluated by a worker; items over all buckets."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.item_lists import Features, Groups, number_counted_items
from concord.metrics_core.evaluation.spark.bucket import (
    FACTS,
    IDS,
    ORIGIN,
    SEQUENCE,
    USER,
    Plan,
    evaluate_bucket,
    schema_of,
    value_columns,
)
from concord.metrics_core.evaluation.spark.facts import Facts, raise_refusals, sum_counts
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.ranked_lists import Items

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BITS = 0xFFFFFFFF
_SEED = 42  # of Spark's `hash`


def partition_keys(buckets: int) -> list[int]:
    """Return a 32-bit key for each bucket; Spark hashes key n into partition n.

    Plain numbers collide: Spark hashes both of two buckets into the second partition.
    """
    keys: dict[int, int] = {}
    for key in count():
        keys.setdefault(spark_hash(key) % buckets, key)
        if len(keys) == buckets:
            return [keys[partition] for partition in range(buckets)]
    raise AssertionError


def spark_hash(number: int) -> int:
    """Return Spark's `hash` of a 32-bit integer: MurmurHash3 (x86, 32 bits), signed."""
    mixed = _turned(number * 0xCC9E2D51, 15) * 0x1B873593
    hashed = (_turned(_SEED ^ (mixed & _BITS), 13) * 5 + 0xE6546B64) & _BITS
    hashed ^= 4  # bytes
    hashed = ((hashed ^ (hashed >> 16)) * 0x85EBCA6B) & _BITS
    hashed = ((hashed ^ (hashed >> 13)) * 0xC2B2AE35) & _BITS
    hashed ^= hashed >> 16
    return hashed - (1 << 32) if hashed >> 31 else hashed


def _turned(number: int, bits: int) -> int:
    number &= _BITS
    return ((number << bits) | (number >> (32 - bits))) & _BITS


ROWS = 1 << 20  # of all tables, in a bucket on average
MOST_SENT = 64 << 20  # bytes of what every worker gets: catalogue, item numbers, features
BUCKET = "bucket"


def bucket_count(rows: int, of_a_bucket: int = ROWS) -> int:
    """Return the number of buckets; no result depends on it."""
    return max(1, math.ceil(rows / of_a_bucket))


@dataclass(frozen=True)
class BucketTable:
    """A table of an evaluation.

    Attributes
    ----------
    name : str
        Name of the table.
    rows : DataFrame
        With `origin`, and `sequence` if several rows may have one origin.
    n_rows : int
        Number of rows.
    user : Column
        Id of the user as text, equal in all tables.
    columns : sequence of Column
        The columns that are read.
    """

    name: str
    rows: "DataFrame"
    n_rows: int
    user: "Column"
    columns: Sequence["Column"]


@dataclass(frozen=True)
class BucketResults:
    """Values and facts of all buckets; computed once, and cached by Spark."""

    plan: Plan
    rows: "DataFrame"

    @cached_property
    def facts(self) -> list[Facts]:
        """The facts of each bucket."""
        rows = self.rows.where(f"{FACTS} IS NOT NULL").select(FACTS).collect()
        return [Facts.from_json(text) for (text,) in rows]

    @property
    def counted_ids(self) -> "DataFrame":
        """Rows of, id, n: the ids of each bucket, by kind."""
        from pyspark.sql import functions as sf

        rows = self.rows.where(f"{FACTS} IS NOT NULL").select(sf.explode(IDS).alias("counted"))
        return rows.select("counted.*")

    @cached_property
    def ids(self) -> "DataFrame":
        """`counted_ids`, summed over buckets."""
        from pyspark.sql import functions as sf

        return self.counted_ids.groupBy("kind", "id").agg(sf.sum("n").alias("n"))

    @property
    def values_schema(self) -> pa.Schema:
        """The columns of `values`."""
        schema = schema_of(self.plan)
        return pa.schema([schema.field(n) for n in schema.names if n not in (FACTS, IDS)])

    @property
    def values(self) -> "DataFrame":
        """The rows of users."""
        return self.rows.where(f"{FACTS} IS NULL").drop(FACTS, IDS)


def evaluate_buckets(plan: Plan, sides: Sequence[BucketTable], buckets: int) -> BucketResults:
    """Evaluate each bucket with `evaluate_bucket`.

    Raises
    ------
    InputError
        If the data that each worker needs is too large.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    _refuse_large(plan)
    (recs, *others) = sides
    list_rows = _bucketed(recs, "", buckets)
    if others:
        parts = [_bucketed(side, f"{side.name}_", buckets) for side in others]
        other_rows = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    else:
        other_rows = list_rows.where("false").selectExpr(BUCKET, ORIGIN, "'' AS side")

    def evaluate(lists: pa.Table, others: pa.Table) -> pa.Table:
        return evaluate_bucket(plan, lists, others)

    rows = (
        list_rows.repartition(buckets, BUCKET)
        .groupBy(BUCKET)
        .cogroup(other_rows.repartition(buckets, BUCKET).groupBy(BUCKET))
        .applyInArrow(evaluate, from_arrow_schema(schema_of(plan)))
    )
    return BucketResults(plan, rows.persist())


def _bucketed(side: BucketTable, prefix: str, buckets: int) -> "DataFrame":
    from pyspark.sql import functions as sf

    number = sf.pmod(sf.xxhash64(side.user), sf.lit(buckets)).cast("int")
    keys = sf.array(*map(sf.lit, partition_keys(buckets)))
    bucket = sf.get(keys, number).alias(BUCKET)
    origins = [name for name in (ORIGIN, SEQUENCE) if name in side.rows.columns]
    side_name: list[Any] = [sf.lit(side.name).alias("side")] if prefix else []
    read = [column.alias(f"{prefix}{number}") for number, column in enumerate(side.columns)]
    return side.rows.select(bucket, *origins, *side_name, *read)


def in_order(results: BucketResults, users_at_a_time: int) -> Iterator[pl.DataFrame]:
    """Yield the values of all users, sorted by user, about `users_at_a_time` at once.

    Raises
    ------
    InputError, ScoringError
        If a user-defined metric fails, or the conventions refuse users.
    """
    from pyspark.sql import functions as sf

    raise_refusals(results.facts)
    names = [USER, *value_columns(results.plan.task)]

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.record_batch({"packed": [sink.getvalue().to_pybytes()]})

    users = sum_counts(results.facts)["users"]
    ranges = max(1, math.ceil(users / users_at_a_time))
    ordered = results.values.repartitionByRange(ranges, sf.col(USER)).sortWithinPartitions(USER)
    empty = pa.Table.from_batches([], results.values_schema).rename_columns(names)
    yield from [] if users else [_frame(empty)]
    for (content,) in ordered.mapInArrow(packed, "packed binary").toLocalIterator():
        yield _frame(pa.ipc.open_stream(content).read_all().rename_columns(names))


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _refuse_large(plan: Plan) -> None:
    if plan.size > MOST_SENT:
        problem = (
            f"every worker would get {plan.size / 2**20:,.0f} MiB of item numbers, "
            "popularity and features, "
            f"and {MOST_SENT >> 20} MiB is the most"
        )
        fix = "leave out the metrics beyond accuracy, or give fewer items or features"
        raise refuse("items", problem, fix)


def column(name: str) -> "Column":
    """Return a column by its name, which may have any characters."""
    from pyspark.sql import functions as sf

    return sf.col(f"`{name.replace('`', '``')}`")


MOST_ITEMS = 1 << 21  # that the driver numbers


def numbered(
    results: BucketResults,
    catalogue: pa.Table | None,
    features: Features | None,
    groups: Groups | None,
) -> Items:
    """Return all items of lists, train and catalogue.

    Raises
    ------
    InputError
        If there are too many items.
    """
    ids = results.ids.where("kind IN ('item listed', 'train')")
    items = ids.groupBy("id").pivot("kind", ["item listed", "train"]).sum("n")
    counts = items.limit(MOST_ITEMS + 1).toArrow()
    if len(counts) > MOST_ITEMS:
        problem = (
            f"lists and train name more than {MOST_ITEMS:,} items, "
            "which the driver and every worker would hold"
        )
        raise refuse("items", problem, "leave out the metrics beyond accuracy")
    had = pa.table({"item": counts["id"].cast(pa.string()), "users": counts["train"]})
    items_table = pa.table({"item": pa.array([], pa.string())}) if catalogue is None else catalogue
    with in_memory() as connection:
        connection.register("had", had)
        connection.register("items", items_table)
        train_users = sum_counts(results.facts).get("train_users", 0)
        return number_counted_items(connection, train_users, features, groups)


def exposures_of(results: BucketResults) -> Mapping[str, Exposure]:
    """Return the exposures of each label over all users."""
    task = results.plan.task
    labels = [label for label in task.labels if label.metric.is_aggregate]
    if not labels or task.items is None:
        return {}
    ids = pl.from_arrow(results.ids.where("kind LIKE 'exposure %'").toArrow())
    assert isinstance(ids, pl.DataFrame)
    exposures = {}
    for label in labels:
        label_ids = ids.filter(pl.col("kind") == f"exposure {label}")
        numbers = label_ids["id"].cast(pl.Int64).to_numpy()
        counts = np.zeros(task.items.n_items, dtype=np.int64)
        counts[numbers] = label_ids["n"].to_numpy()
        users = sum(each.exposures.get(str(label), 0) for each in results.facts)
        exposures[str(label)] = Exposure(counts, users, label.k, task.items)
    return exposures
