"""The executor that `evaluation.engine` in params.yaml names."""

from functools import partial

from concord.metrics_core.evaluation.evaluate_model import Executor, execute_in_memory
from concord.pipeline.evaluating.engines.duckdb import execute_by_ranges
from concord.pipeline.params.model import Params


def executor_of(params: Params) -> Executor:
    """Return the function that yields users' values, partition by partition."""
    if params.evaluation.engine == "polars":
        return execute_in_memory
    rows = params.evaluation.rows_per_partition
    if params.evaluation.engine == "spark":
        from concord.pipeline.evaluating.engines.spark import execute_on_spark

        return partial(execute_on_spark, rows_per_partition=rows)
    return partial(execute_by_ranges, rows_per_partition=rows)
