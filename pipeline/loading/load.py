"""Stage `load@<model>`: a model's file as it was left -> lists in rank order, and what was found in it."""

from pathlib import Path

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.loaded_tables import keep_lists
from concord.metrics_core.data.quality import in_numbers
from concord.pipeline.loading.input_files import lists_file, policies
from concord.pipeline.loading.sorted_parquet import keeping
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
    with keeping(lists, table.path) as keep:
        kept = keep_lists(
            connection,
            table,
            policies(params),
            pinned,
            keep,
            order=params.models[model].order,
            watch=counted,
        )
        fold = params.models[model].fold
        known = {"model": model} if fold is None else {"model": model, "fold": fold}
        quality = known | kept.describe()  # its hashes are of what was read
    write_json(Path(params.results.quality) / f"{model}.json", quality)
    return in_numbers(quality)
