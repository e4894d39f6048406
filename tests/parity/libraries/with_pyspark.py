"""Spark MLlib's RankingMetrics over all users of the truth, [] for those without list."""

from array import array
from collections.abc import Iterable, Iterator
from functools import cache

from adapter import Case, Refusal, Value, run
from pyspark.mllib.evaluation import RankingMetrics
from pyspark.sql import SparkSession

AT_K = {
    "P": RankingMetrics.precisionAt,
    "R": RankingMetrics.recallAt,
    "AP": RankingMetrics.meanAveragePrecisionAt,
    "nDCG": RankingMetrics.ndcgAt,
}
PER_USER = {"bellei"}  # one Spark job a value: the other cases have means only
Row = tuple["array[int]", "array[int]"]


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Means of all cases; of one also each user alone."""
    together = _metrics(list(_rows(case).values()))
    alone = {user: _metrics([row]) for user, row in _rows(case).items() if case.name in PER_USER}
    for name, at_k in AT_K.items():
        for k in case.ks:
            users = {user: at_k(metrics, k) for user, metrics in alone.items()}
            yield Value("spark_mllib", f"{name}@{k}", users or None, at_k(together, k))
    users = {user: metrics.meanAveragePrecision for user, metrics in alone.items()}
    yield Value("spark_mllib_map", "AP", users or None, together.meanAveragePrecision)


def _rows(case: Case) -> dict[str, Row]:
    known: dict[str, int] = {}

    def numbered(items: Iterable[str]) -> "array[int]":
        # an array names its type, so that Spark also takes a row with nothing in it
        return array("i", [known.setdefault(item, len(known)) for item in items])

    return {
        user: (
            numbered(item for item, _ in case.lists.get(user, [])),
            numbered(item for item, grade in truth.items() if grade >= 1),
        )
        for user, truth in case.truth.items()
    }


def _metrics(rows: list[Row]) -> RankingMetrics:
    return RankingMetrics(_session().sparkContext.parallelize(rows, 1))


@cache
def _session() -> SparkSession:
    builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "1g")
    plain = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "localhost",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # many small jobs
    }
    for key, value in plain.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


if __name__ == "__main__":
    run(measure)
