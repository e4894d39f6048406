"""Stage `load@<model>`: a model's file as it was left -> lists in rank order, and what was found in it."""

from pathlib import Path

from duckdb import DuckDBPyConnection

from concord.metrics_core.reading.loaded import keep_lists
from concord.metrics_core.reading.quality import in_numbers
from concord.pipeline.loading.input_files import lists_file, policies
from concord.pipeline.loading.sorted_parquet import described, keeping
from concord.pipeline.loading.unchanged import unchanged
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.connections import workspace
from concord.pipeline.running.outputs import prepare, write_json
from concord.pipeline.running.progress import counted
from concord.pipeline.running.stage import model_argument


def main() -> str:
    params = read_params()
    model = model_argument(params)
    prepare(params.results, params.results.lists, params.results.quality)
    with workspace() as connection:
        return load(connection, params, model)


def load(connection: DuckDBPyConnection, params: Params, model: str) -> str:
    """Write a model's ranked lists and its quality file, on refusal neither; says what was read."""
    table, pinned = lists_file(params, model), params.pinned
    lists = Path(params.results.lists) / f"{model}.parquet"
    with unchanged(table.path) as refuse_changed:
        describe = keep_lists(
            connection,
            table,
            policies(params),
            pinned,
            keeping(lists, refuse_changed),
            order=params.models[model].order,
            watch=counted,
        )
        quality = {"model": model} | described(describe, lists, refuse_changed)
    write_json(Path(params.results.quality) / f"{model}.json", quality)
    return in_numbers(quality)
