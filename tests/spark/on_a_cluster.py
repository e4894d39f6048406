"""Evaluate the tables of a folder on the Spark of the environment and write the results.

The tests run this script.
"""

import json
import sys
from pathlib import Path
from typing import Any

import concord as cc

METRICS = ["nDCG@10", "AP@10", "P@5", "R@10", "RR", "Coverage@10"]


def main() -> None:
    from pyspark.sql import SparkSession

    folder, how, target = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    builder = SparkSession.builder
    builder = builder.remote(target) if how == "remote" else builder.master(target)
    for option in sys.argv[4:]:
        builder = builder.config(*option.split("=", 1))
    spark = builder.getOrCreate()
    read = spark.read.parquet
    result: Any = cc.evaluate(
        read((folder / "recs").as_uri()),
        read((folder / "truth.parquet").as_uri()),
        metrics=METRICS,
        conventions="standard",
        items=str(folder / "items.parquet"),
    )
    rows = sorted(
        [v.hex() if isinstance(v, float) else v for v in row.values()]
        for row in result.per_user.toArrow().to_pylist()
    )
    reported = {"per_user": rows, "summary": repr(result.to_frame().rows())}
    (folder / "found.json").write_text(json.dumps(reported))
    spark.stop()


if __name__ == "__main__":
    main()
