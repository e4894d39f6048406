"""Every bucket is a task of its own."""

from typing import TYPE_CHECKING

import pytest

from concord.metrics_core.scoring.buckets.spread import partition_keys, spark_hash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.whole
@pytest.mark.parametrize("buckets", [1, 14])
def test_no_two_buckets_meet_in_a_task(spark: "SparkSession", buckets: int) -> None:
    from pyspark.sql import functions as sf

    keys = partition_keys(buckets)
    rows = spark.createDataFrame([(key,) for key in keys], "bucket int")

    placed = rows.repartition(buckets, "bucket").select("bucket", sf.spark_partition_id())

    assert sorted(map(tuple, placed.collect())) == sorted(zip(keys, range(buckets), strict=True))


def test_hashes_are_those_of_spark() -> None:
    assert [spark_hash(0), spark_hash(1)] == [933211791, -559580957]
