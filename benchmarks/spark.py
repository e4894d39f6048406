"""Concord on Spark against others on Spark, from the same parquet files to P, R, nDCG and MAP at 10, each in a process of its own.

    python -m benchmarks.spark FOLDER SIZE [PEERS_PYTHON]

SIZE is `tenth` or `full` (benchmarks/workload.py); PEERS_PYTHON has `recommenders`, `replay-rec` and pyspark.
Imports and the start of the session do not count; everything else does.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

K = 10
LOCAL = "local[2]"


def _concord(recs: DataFrame, truth: DataFrame) -> dict[str, float]:
    import concord as cc

    labels = {"P": f"P@{K}", "R": f"R@{K}", "nDCG": f"nDCG@{K}", "MAP": f"AP@{K}"}
    binary = cc.preset("standard", gain="binary")  # as the others have it
    result = cc.evaluate(recs, truth, metrics=[*labels.values()], conventions=binary)
    return {name: result[label] for name, label in labels.items()}


def _mllib(recs: DataFrame, truth: DataFrame) -> dict[str, float]:
    from pyspark.mllib.evaluation import RankingMetrics

    ordered = sf.transform(
        sf.array_sort(sf.collect_list(sf.struct("rank", "item"))), lambda each: each["item"].cast("double")
    )  # fmt: skip
    lists = recs.groupBy("user").agg(ordered.alias("listed"))
    relevant = truth.where("grade >= 1").groupBy("user")
    known = relevant.agg(sf.collect_list(sf.col("item").cast("double")).alias("known"))
    pairs = known.join(lists, "user", "left").select("listed", "known")
    found: Any = RankingMetrics(pairs.rdd.map(lambda row: (row[0] or [], row[1])).cache())
    return {
        "P": found.precisionAt(K),
        "R": found.recallAt(K),
        "nDCG": found.ndcgAt(K),
        "MAP": found.meanAveragePrecisionAt(K),
    }


def _recommenders(recs: DataFrame, truth: DataFrame) -> dict[str, float]:
    from recommenders.evaluation.spark_evaluation import SparkRankingEvaluation

    found = SparkRankingEvaluation(
        truth.where("grade >= 1"),
        recs.withColumn("prediction", -sf.col("rank").cast("double")),
        k=K,
        relevancy_method="top_k",
        col_user="user",
        col_item="item",
        col_rating="grade",
        col_prediction="prediction",
    )
    return {
        "P": found.precision_at_k(),
        "R": found.recall_at_k(),
        "nDCG": found.ndcg_at_k(),
        "MAP": found.map_at_k(),
    }


def _replay(recs: DataFrame, truth: DataFrame) -> dict[str, float]:
    from replay.metrics import MAP, NDCG, OfflineMetrics, Precision, Recall

    columns = {"query_column": "user", "item_column": "item", "rating_column": "rating"}
    metrics = OfflineMetrics([Precision(K), Recall(K), NDCG(K), MAP(K)], **columns)
    scored = recs.withColumn("rating", -sf.col("rank").cast("double")).drop("rank")
    judged = truth.where("grade >= 1").withColumnRenamed("grade", "rating")
    found = metrics(scored, judged)
    names = {"Precision": "P", "Recall": "R", "NDCG": "nDCG", "MAP": "MAP"}
    return {names[name.split("@")[0]]: value for name, value in found.items()}


CONTESTANTS: dict[str, Callable[[DataFrame, DataFrame], dict[str, float]]] = {
    "concord": _concord,
    "mllib": _mllib,
    "recommenders": _recommenders,
    "replay": _replay,
}


def contest(name: str, lists: str, truth: str) -> dict[str, Any]:
    """Seconds and means of one contestant."""
    spark = (
        SparkSession.builder.master(LOCAL)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.range(10).count()
    started = time.perf_counter()
    means = CONTESTANTS[name](spark.read.parquet(lists), spark.read.parquet(truth))
    return {"seconds": time.perf_counter() - started, **means}


def main() -> None:
    """Every contestant, one after the other."""
    from benchmarks.workload import FULL, TENTH, make

    folder, size = Path(sys.argv[1]), {"full": FULL, "tenth": TENTH}[sys.argv[2]]
    peers = sys.argv[3] if len(sys.argv) > 3 else None  # noqa: PLR2004
    files = make(folder, size, "integer")
    failed = []
    for name in CONTESTANTS:
        own = name in ("concord", "mllib")
        if not own and peers is None:
            continue
        python = sys.executable if own or peers is None else peers
        command = [python, __file__, "--contest", name, str(files.lists), str(files.truth)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        last = done.stdout.strip().splitlines()[-1:]
        if done.returncode or not last:
            failed.append(name)
        print(name, done.stderr[-600:] if name in failed else last[0], flush=True)
    if failed:
        sys.exit(f"not measured: {', '.join(failed)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--contest"]:
        print(json.dumps(contest(*sys.argv[2:5])))
    else:
        main()
