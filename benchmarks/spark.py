"""Concord on Spark beside other libraries: P, R, nDCG and MAP at 10 of 13.8 and 100 million rows.

Each library runs in its own process.

    python -m benchmarks.spark PYTHON_OF_RECOMMENDERS PYTHON_OF_REPLAY [USERS …]

The two have `recommenders`, `replay-rec`, pyspark and setuptools. Imports and the start of the
session do not count, the start of Spark's Python workers does. Writes its section of
benchmarks/RESULTS.md.
"""

import json
import math
import os
import shutil
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
USERS = (138_000, 1_000_000)
LONGEST = 300  # seconds that a contestant is given
HEADING = "On Spark, beside others"


def _concord(recs: DataFrame, truth: DataFrame) -> dict[str, float]:
    import concord as cc

    labels = {"P": f"P@{K}", "R": f"R@{K}", "nDCG": f"nDCG@{K}", "MAP": f"AP@{K}"}
    binary = cc.preset("standard", gain="binary")  # as the others have it
    result = cc.evaluate(recs, truth, metrics=[*labels.values()], conventions=binary)
    return {name: result[label] for name, label in labels.items()}


def _mllib(recs: DataFrame, truth: DataFrame) -> dict[str, float]:
    from pyspark.mllib.evaluation import RankingMetrics

    ordered = sf.transform(
        sf.array_sort(sf.collect_list(sf.struct("rank", "item"))),
        lambda each: each["item"].cast("double"),
    )
    lists = recs.groupBy("user").agg(ordered.alias("listed"))
    relevant = truth.where("grade >= 1").groupBy("user")
    known = relevant.agg(sf.collect_list(sf.col("item").cast("double")).alias("known"))
    pairs = known.join(lists, "user", "left").select("listed", "known")
    results: Any = RankingMetrics(pairs.rdd.map(lambda row: (row[0] or [], row[1])).cache())
    return {
        "P": results.precisionAt(K),
        "R": results.recallAt(K),
        "nDCG": results.ndcgAt(K),
        "MAP": results.meanAveragePrecisionAt(K),
    }


def _recommenders(recs: DataFrame, truth: DataFrame) -> dict[str, float]:
    from recommenders.evaluation.spark_evaluation import SparkRankingEvaluation

    results = SparkRankingEvaluation(
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
        "P": results.precision_at_k(),
        "R": results.recall_at_k(),
        "nDCG": results.ndcg_at_k(),
        "MAP": results.map_at_k(),
    }


def _replay(recs: DataFrame, truth: DataFrame) -> dict[str, float]:
    from replay.metrics import MAP, NDCG, OfflineMetrics, Precision, Recall

    columns = {"query_column": "user", "item_column": "item", "rating_column": "rating"}
    metrics = OfflineMetrics([Precision(K), Recall(K), NDCG(K), MAP(K)], **columns)
    scored = recs.withColumn("rating", -sf.col("rank").cast("double")).drop("rank")
    judged = truth.where("grade >= 1").withColumnRenamed("grade", "rating")
    results = metrics(scored, judged)
    names = {"Precision": "P", "Recall": "R", "NDCG": "nDCG", "MAP": "MAP"}
    return {names[name.split("@")[0]]: value for name, value in results.items()}


CONTESTANTS: dict[str, Callable[[DataFrame, DataFrame], dict[str, float]]] = {
    "concord": _concord,
    "mllib": _mllib,
    "recommenders": _recommenders,
    "replay": _replay,
}


def contest(name: str, lists: str, truth: str) -> dict[str, Any]:
    """Return seconds and means of one contestant."""
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
    """Run every contestant on every size, one after the other."""
    from benchmarks import scale
    from benchmarks.measured import replace_section
    from benchmarks.tabulated import markdown_table

    pythons = {"recommenders": sys.argv[1], "replay": sys.argv[2]}
    lines = []
    for users in map(int, sys.argv[3:] or USERS):
        folder = scale.DATA / f"scale-{users}"
        scale.make(folder, users)
        results = {}
        for name in CONTESTANTS:
            results[name] = _run(name, folder, pythons.get(name, sys.executable))
            print(f"{users:,} users: {name}: {results[name]}", flush=True)
        shutil.rmtree(folder)
        concord_results = results["concord"]
        for name, values in results.items():
            time_of = f"{values['seconds']:.1f}" if values else f"not done in {LONGEST}"
            times = (
                f"{values['seconds'] / concord_results['seconds']:.2f}"
                if values
                else f"over {LONGEST / concord_results['seconds']:.0f}"
            )
            same = "yes" if values and _agree(concord_results, values) else "no" if values else ""
            lines.append((f"{users * scale.DEPTH:,}", name, time_of, times, same))
    text = [
        f"Made by `python -m benchmarks.spark`: one machine of {os.cpu_count()} cores, `{LOCAL}`, "
        f"from parquet files to P, R, nDCG and MAP at {K}.",
        "Concord checks the rows, counts what tells whether lists can be trusted, and keeps "
        "users' values; the others do not.",
        "",
        *markdown_table(("rows", "", "wall, s", "x Concord", "same means"), lines, text_columns=2),
    ]
    page = scale.RESULTS.read_text(encoding="utf-8")
    scale.RESULTS.write_text(replace_section(page, HEADING, text), encoding="utf-8", newline="\n")


def _run(name: str, folder: Path, python: str) -> dict[str, float]:
    """Return seconds and means, or an empty dict if it took too long."""
    words = [
        python,
        __file__,
        "--contest",
        name,
        *(str(folder / f"{f}.parquet") for f in ("lists", "truth")),
    ]
    workers = os.environ | {"PYSPARK_PYTHON": python, "PYTHONPATH": str(Path(__file__).parents[1])}
    try:
        done = subprocess.run(
            words, stdout=subprocess.PIPE, text=True, check=True, env=workers, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return {}
    results: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return results


def _agree(left_values: dict[str, float], right_values: dict[str, float]) -> bool:
    return all(
        math.isclose(left_values[name], right_values[name], rel_tol=1e-9)
        for name in ("P", "R", "nDCG", "MAP")
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--contest"]:
        print(json.dumps(contest(*sys.argv[2:5])))
    else:
        main()
