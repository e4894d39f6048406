"""Stage `load-background@<name>`: train, catalogue or users, checked and sorted."""

from pathlib import Path

from duckdb import DuckDBPyConnection

from concord.metrics_core.reading.loaded import LOADERS
from concord.metrics_core.reading.quality import in_numbers
from concord.pipeline.loading.input_files import background_file
from concord.pipeline.loading.sorted_parquet import write_query
from concord.pipeline.loading.unchanged import unchanged
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.connections import workspace
from concord.pipeline.running.outputs import prepare, write_json
from concord.pipeline.running.progress import counted
from concord.pipeline.running.stage import argument


def main() -> str:
    params = read_params()
    name = argument(list(params.background), "a file of background")
    prepare(params.results, params.results.data)
    with workspace() as connection:
        return load_background(connection, params, name)


def load_background(connection: DuckDBPyConnection, params: Params, name: str) -> str:
    """Write train, catalogue or users, and beside it what is known of the file; on refusal neither. Says what was read."""
    table = background_file(params, name)
    with unchanged(table.path):
        found = LOADERS[name](connection, table, watch=counted)
    data = Path(params.results.data)
    write_query(connection, found.query, data / f"{name}.parquet")
    write_json(data / f"{name}.json", found.quality)
    return in_numbers(found.quality)
