"""Stage `load-background@<name>`: train, catalogue or users, checked and sorted."""

from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.hashes import hashes
from concord.metrics_core.data.loaded_tables import LOADERS
from concord.metrics_core.data.quality import in_numbers
from concord.metrics_core.errors import in_words
from concord.pipeline.loading.input_files import background_file
from concord.pipeline.loading.sorted_parquet import write_query
from concord.pipeline.loading.unchanged import unchanged
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params, refuse_unfit
from concord.pipeline.running.connections import workspace
from concord.pipeline.running.outputs import prepare, write_json, write_parquet
from concord.pipeline.running.progress import counted
from concord.pipeline.running.stage import argument


def main() -> str:
    params = read_params()
    name = argument(list(params.background), "a file of background")
    prepare(params.results, params.results.data)
    with workspace() as connection:
        return load_background(connection, params, name)


def load_background(connection: DuckDBPyConnection, params: Params, name: str) -> str:
    """Write train, catalogue, users or metrics, and beside it what is known of the file; on refusal neither. Says what was read."""
    if name == "metrics":
        return _load_metrics(params)
    table = background_file(params, name)
    with unchanged(table.path):
        found = LOADERS[name](connection, table, watch=counted)
    data = Path(params.results.data)
    write_query(connection, found.query, data / f"{name}.parquet")
    write_json(data / f"{name}.json", found.quality)
    return in_numbers(found.quality)


def _load_metrics(params: Params) -> str:
    """Keeps the text of one's own metrics, by which DVC knows of every change; it is not run here."""
    file, data = Path(params.background["metrics"].path), Path(params.results.data)
    refuse_unfit(params, file)
    with unchanged(file):
        found = {"path": file.as_posix(), "format": "py", **hashes(file).described()}
        lines = file.read_text(encoding="utf-8").splitlines()
    write_parquet(data / "metrics.parquet", pl.DataFrame({"line": lines}))
    write_json(data / "metrics.json", found | {"rows": len(lines)})
    return in_words(len(lines), "line")
