"""Score the files of a folder on two executors, one of which is killed half-way.

The tests run this script.
"""

import os
import signal
import sys
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import polars as pl

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.evaluation.evaluate import parse_labels
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.task import Task
from concord.pipeline.running.connections import read_only_connection
from concord.pipeline.stages.spark_executor import execute_on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 25  # per block: more blocks than the first executors finish before one of them ends
METRICS = ["nDCG@10", "AP@10", "P@5", "R@10", "RR"]


def main() -> None:
    from pyspark.sql import SparkSession

    folder = Path(sys.argv[1])
    session = SparkSession.builder.master("local-cluster[2,1,1024]")
    for option in sys.argv[2:]:
        session = session.config(*option.split("=", 1))
    spark = session.getOrCreate()
    thread = Thread(target=_kill_an_executor, args=[spark])
    thread.start()
    lists, data = inputs(folder)
    parts = list(execute_on_spark(lists, data, task(), ROWS))
    thread.join()
    pl.concat([part.values for part in parts]).write_parquet(folder / "found.parquet")
    spark.stop()


def inputs(folder: Path) -> tuple[Path, EvaluationData]:
    truth = folder / "truth.parquet"
    return folder / "lists.parquet", EvaluationData(truth=truth, connect=read_only_connection)


def task() -> Task:
    return Task(parse_labels(METRICS), preset("standard"))


def _kill_an_executor(spark: "SparkSession") -> None:
    """Kill one of the executors once two tasks are done."""
    tracker, application = spark.sparkContext.statusTracker(), spark.sparkContext.applicationId
    done = 0
    while done < 2:
        time.sleep(0.01)
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        done = max((stage.numCompletedTasks for stage in stages if stage), default=0)
    number = _executors(application)[0]
    os.kill(number, signal.SIGKILL)
    print("killed", number, flush=True)


def _executors(application: str) -> list[int]:
    """Return the process ids of the executors of an application."""
    result = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        words = process.read_bytes().split(b"\0")
        is_executor = any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words)
        if is_executor and application.encode() in words:
            result.append(int(process.parent.name))
    return result


if __name__ == "__main__":
    main()
