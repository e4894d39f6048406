"""Spark MLlib's RankingMetrics over all users of the truth, [] for those without a list."""

from array import array
from functools import cache

from adapter import Value, run
from pyspark.mllib.evaluation import RankingMetrics
from pyspark.sql import SparkSession

AT_K = {
    "P": RankingMetrics.precisionAt,
    "R": RankingMetrics.recallAt,
    "AP": RankingMetrics.meanAveragePrecisionAt,
    "nDCG": RankingMetrics.ndcgAt,
}
PER_USER = {"bellei"}  # one Spark job per value: the other cases have only means


def measure(case):
    """Yield the means of all cases, and for one case also each user alone."""
    number = case.item_numbers()
    # an array names its type, so that Spark also takes an empty row
    rows = {
        user: [array("i", map(number.get, items)) for items in (case.items_of(user), relevant)]
        for user, relevant in case.relevant().items()
    }
    together = metrics_of(list(rows.values()))
    alone = {user: metrics_of([row]) for user, row in rows.items() if case.name in PER_USER}
    for name, at_k in AT_K.items():
        for k in case.ks:
            users = {user: at_k(metrics, k) for user, metrics in alone.items()}
            yield Value("spark_mllib", f"{name}@{k}", users or None, at_k(together, k))
    users = {user: metrics.meanAveragePrecision for user, metrics in alone.items()}
    yield Value("spark_mllib_map", "AP", users or None, together.meanAveragePrecision)


def metrics_of(rows):
    """Return the metrics over rows of a list and the relevant items."""
    return RankingMetrics(session().sparkContext.parallelize(map(tuple, rows), 1))


@cache
def session():
    """Return the one Spark session."""
    builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "1g")
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "localhost",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # many small jobs
    }
    for key, value in options.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    run(measure)
