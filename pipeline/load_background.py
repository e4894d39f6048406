"""Stage `load-background@<name>`: train or catalogue, for the metrics beyond accuracy, checked and sorted."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from metrics_core.background import catalogue_of
from pipeline.checks import InputError, refuse
from pipeline.loading.hashes import hashes
from pipeline.loading.input_file import InputFile
from pipeline.loading.list_checks import list_checks, value_problems
from pipeline.loading.quality import describe
from pipeline.loading.sorted_parquet import write_query
from pipeline.loading.sources import format_of, read_source, refuse_missing
from pipeline.loading.workspace import workspace
from pipeline.outputs import write_json
from pipeline.params import BackgroundFile, Params, read_params
from pipeline.stage import run

SEPARATOR = "|"  # of categories, in text
_READERS: Mapping[str, Callable[[Path], pl.DataFrame]] = {
    "parquet": lambda path: pl.read_parquet(path, glob=False),
    "csv": lambda path: pl.read_csv(path, infer_schema=False, glob=False),
    "tsv": lambda path: pl.read_csv(path, separator="\t", infer_schema=False, glob=False),
    "jsonl": pl.read_ndjson,
}


def main() -> None:
    params, name = read_params(), sys.argv[1]
    with workspace() as connection:
        load_background(connection, params, name)


def load_background(connection: DuckDBPyConnection, params: Params, name: str) -> None:
    """Write train or catalogue and its quality file; on refusal, neither."""
    file = params.background[name]  # type: ignore[index]
    path = Path(params.results.data) / f"{name}.parquet"
    if name == "train":
        quality = _load_train(connection, file, path)
    else:
        quality = _load_items(connection, file, path)
    write_json(Path(params.results.quality) / f"{name}.json", quality)


def _load_train(
    connection: DuckDBPyConnection, entry: BackgroundFile, into: Path
) -> dict[str, Any]:
    key, path = "background.train", Path(entry.path)
    refuse_missing(key, path)
    columns = {str(ours): theirs for ours, theirs in entry.columns.items()}
    file = InputFile(key, path, format_of(key, path, entry.format), ("user", "item"), (), columns)
    source = read_source(connection, file)
    if problems := value_problems(connection, source, list_checks(source)):
        raise InputError(problems)
    write_query(connection, "SELECT DISTINCT user, item FROM source ORDER BY user, item", into)
    return describe(connection, source)


def _load_items(
    connection: DuckDBPyConnection, entry: BackgroundFile, into: Path
) -> dict[str, Any]:
    key, path = "background.items", Path(entry.path)
    refuse_missing(key, path)
    form = format_of(key, path, entry.format)
    if form not in _READERS:
        raise refuse(f"{path}", f"is {form}", "give the catalogue as parquet, csv, tsv or jsonl")
    frame = _READERS[form](path)
    named = {theirs: ours for ours, theirs in entry.columns.items()}
    frame = frame.rename({name: named[name] for name in frame.columns if name in named})
    if frame.schema.get("categories") == pl.String:
        frame = frame.with_columns(pl.col("categories").str.split(SEPARATOR))
    try:
        catalogue = catalogue_of(frame)
    except ValueError as error:
        what, _, fix = str(error).rpartition("; ")
        raise refuse(str(path), what or str(error), fix or "mend the file") from None
    kept = [name for name in ("item", "categories", "vector") if name in frame.columns]
    connection.register("catalogue", frame.select(kept).to_arrow())
    write_query(connection, "SELECT * FROM catalogue ORDER BY item", into)
    known = hashes(path)
    return {
        "path": path.as_posix(),
        "format": form,
        "sha256": known.sha256,
        "md5": known.md5,
        "bytes": known.bytes,
        "rows": len(frame),
        "features": None if catalogue.features is None else kept[-1],
    }


if __name__ == "__main__":
    run(main)
