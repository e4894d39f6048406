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
from concord.metrics_core.evaluation.listing import Features, Groups, counted_items
from concord.metrics_core.evaluation.spark.bucket import (
    FACTS,
    IDS,
    ORIGIN,
    SEQUENCE,
    USER,
    Facts,
    Plan,
    added,
    evaluate_bucket,
    raise_refusals,
    schema_of,
    value_columns,
)
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.listed import Items

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BITS = 0xFFFFFFFF
_SEED = 42  # of Spark's `hash`


def partition_keys(buckets: int) -> list[int]:
    """32-bit keys: that of place n is hashed into partition n of as many partitions as there are buckets.

    Buckets by their plain number would meet: of two, Spark hashes both into the second partition.
    """
    keys: dict[int, int] = {}
    for key in count():
        keys.setdefault(spark_hash(key) % buckets, key)
        if len(keys) == buckets:
            return [keys[partition] for partition in range(buckets)]
    raise AssertionError


def spark_hash(number: int) -> int:
    """Spark's `hash` of a 32-bit integer: MurmurHash3 (x86, 32 bits), signed."""
    mixed = _turned(number * 0xCC9E2D51, 15) * 0x1B873593
    found = (_turned(_SEED ^ (mixed & _BITS), 13) * 5 + 0xE6546B64) & _BITS
    found ^= 4  # bytes
    found = ((found ^ (found >> 16)) * 0x85EBCA6B) & _BITS
    found = ((found ^ (found >> 13)) * 0xC2B2AE35) & _BITS
    found ^= found >> 16
    return found - (1 << 32) if found >> 31 else found


def _turned(number: int, bits: int) -> int:
    number &= _BITS
    return ((number << bits) | (number >> (32 - bits))) & _BITS


ROWS = 1 << 20  # of all tables, in a bucket on average
MOST_SENT = 64 << 20  # bytes of what every worker gets: catalogue, item numbers, features
BUCKET = "bucket"


def bucket_count(rows: int, of_a_bucket: int = ROWS) -> int:
    """Buckets of bounded size; no result depends on their number."""
    return max(1, math.ceil(rows / of_a_bucket))


@dataclass(frozen=True)
class BucketTable:
    """One table of an evaluation.

    rows    : with `origin`, and `sequence` where several rows may have come from one; there are `n_rows`
    user    : the id of the user as text, alike in all tables
    columns : those that are read
    """

    name: str
    rows: "DataFrame"
    n_rows: int
    user: "Column"
    columns: Sequence["Column"]


@dataclass(frozen=True)
class BucketResults:
    """What the buckets gave; computed once, and kept by Spark."""

    plan: Plan
    rows: "DataFrame"

    @cached_property
    def facts(self) -> list[Facts]:
        """Those of each bucket."""
        told = self.rows.where(f"{FACTS} IS NOT NULL").select(FACTS).collect()
        return [Facts.of_json(text) for (text,) in told]

    @property
    def told(self) -> "DataFrame":
        """of, id, n: what each bucket tells of ids."""
        from pyspark.sql import functions as sf

        told = self.rows.where(f"{FACTS} IS NOT NULL").select(sf.explode(IDS).alias("told"))
        return told.select("told.*")

    @cached_property
    def ids(self) -> "DataFrame":
        """`told`, added up over the buckets."""
        from pyspark.sql import functions as sf

        return self.told.groupBy("of", "id").agg(sf.sum("n").alias("n"))

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
    """Every bucket evaluated by `evaluate_bucket`.

    Raises
    ------
    InputError : what every worker needs is too large
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    _refuse_large(plan)
    (recs, *others) = sides
    left = _bucketed(recs, "", buckets)
    if others:
        parts = [_bucketed(side, f"{side.name}_", buckets) for side in others]
        right = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    else:
        right = left.where("false").selectExpr(BUCKET, ORIGIN, "'' AS side")

    def evaluated(lists: pa.Table, judged: pa.Table) -> pa.Table:
        return evaluate_bucket(plan, lists, judged)

    found = (
        left.repartition(buckets, BUCKET)
        .groupBy(BUCKET)
        .cogroup(right.repartition(buckets, BUCKET).groupBy(BUCKET))
        .applyInArrow(evaluated, from_arrow_schema(schema_of(plan)))
    )
    return BucketResults(plan, found.persist())


def _bucketed(side: BucketTable, prefix: str, buckets: int) -> "DataFrame":
    from pyspark.sql import functions as sf

    number = sf.pmod(sf.xxhash64(side.user), sf.lit(buckets)).cast("int")
    keys = sf.array(*map(sf.lit, partition_keys(buckets)))
    bucket = sf.get(keys, number).alias(BUCKET)
    stand = [name for name in (ORIGIN, SEQUENCE) if name in side.rows.columns]
    named: list[Any] = [sf.lit(side.name).alias("side")] if prefix else []
    read = [column.alias(f"{prefix}{number}") for number, column in enumerate(side.columns)]
    return side.rows.select(bucket, *stand, *named, *read)


def in_order(found: BucketResults, users_at_a_time: int) -> Iterator[pl.DataFrame]:
    """The values of all users, by user, so many at a time or somewhat more: no more of them come to the driver at once.

    Raises
    ------
    InputError, ScoringError : an own metric is wrong, or the conventions refuse users
    """
    from pyspark.sql import functions as sf

    raise_refusals(found.facts)
    names = [USER, *value_columns(found.plan.task)]

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.record_batch({"packed": [sink.getvalue().to_pybytes()]})

    users = added(found.facts)["users"]
    ranges = max(1, math.ceil(users / users_at_a_time))
    ordered = found.values.repartitionByRange(ranges, sf.col(USER)).sortWithinPartitions(USER)
    empty = pa.Table.from_batches([], found.values_schema).rename_columns(names)
    yield from [] if users else [_frame(empty)]
    for (content,) in ordered.mapInArrow(packed, "packed binary").toLocalIterator():
        yield _frame(pa.ipc.open_stream(content).read_all().rename_columns(names))


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _refuse_large(plan: Plan) -> None:
    if plan.size > MOST_SENT:
        what = (
            f"every worker would get {plan.size / 2**20:,.0f} MiB of item numbers, popularity and features, "
            f"and {MOST_SENT >> 20} MiB is the most"
        )
        fix = "leave out the metrics beyond accuracy, or give fewer items or features"
        raise refuse("items", what, fix)


def column(name: str) -> "Column":
    """A column by its name, whatever stands in it."""
    from pyspark.sql import functions as sf

    return sf.col(f"`{name.replace('`', '``')}`")


MOST_ITEMS = 1 << 21  # that the driver numbers


def numbered(
    found: BucketResults,
    catalogue: pa.Table | None,
    features: Features | None,
    groups: Groups | None,
) -> tuple[Items, pa.Table]:
    """What is known of all items of lists, train and catalogue, and their numbers.

    Raises
    ------
    InputError : there are too many of them
    """
    named = found.ids.where("of IN ('item listed', 'train')")
    items = named.groupBy("id").pivot("of", ["item listed", "train"]).sum("n")
    told = items.limit(MOST_ITEMS + 1).toArrow()
    if len(told) > MOST_ITEMS:
        what = f"lists and train name more than {MOST_ITEMS:,} items, which the driver and every worker would hold"
        raise refuse("items", what, "leave out the metrics beyond accuracy")
    had = pa.table({"item": told["id"].cast(pa.string()), "users": told["train"]})
    shelf = pa.table({"item": pa.array([], pa.string())}) if catalogue is None else catalogue
    with in_memory() as connection:
        connection.register("had", had)
        connection.register("items", shelf)
        train_users = added(found.facts).get("train_users", 0)
        return counted_items(connection, train_users, features, groups)


def exposures_of(found: BucketResults) -> Mapping[str, Exposure]:
    """Of each label over all users."""
    task = found.plan.task
    labels = [label for label in task.labels if label.metric.of_catalogue]
    if not labels or task.items is None:
        return {}
    told = pl.from_arrow(found.ids.where("of LIKE 'exposure %'").toArrow())
    assert isinstance(told, pl.DataFrame)
    exposures = {}
    for label in labels:
        of = told.filter(pl.col("of") == f"exposure {label}")
        held = of["id"].cast(pl.Int64).to_numpy()
        counts = np.zeros(task.items.n_items, dtype=np.int64)
        counts[held] = of["n"].to_numpy()
        users = sum(each.exposures.get(str(label), 0) for each in found.facts)
        exposures[str(label)] = Exposure(counts, users, label.k, task.items)
    return exposures
