"""Stage `load-background@<name>`: train, catalogue or users, checked and sorted."""

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
from pipeline.loading.quality import describe, in_numbers
from pipeline.loading.sorted_parquet import write_query
from pipeline.loading.sources import format_of, read_source, refuse_missing
from pipeline.loading.truth_checks import time_checks
from pipeline.loading.workspace import workspace
from pipeline.outputs import prepare, write_json
from pipeline.params import BackgroundFile, Params, read_params
from pipeline.running.unchanged import unchanged
from pipeline.stage import run

SEPARATOR = "|"  # of categories, in text
_READERS: Mapping[str, Callable[[Path], pl.DataFrame]] = {
    "parquet": lambda path: pl.read_parquet(path, glob=False),
    "csv": lambda path: pl.read_csv(path, infer_schema=False, glob=False),
    "tsv": lambda path: pl.read_csv(path, separator="\t", infer_schema=False, glob=False),
    "jsonl": pl.read_ndjson,
}


def main() -> str:
    params, name = read_params(), sys.argv[1]
    prepare(params.results, params.results.data, params.results.quality)
    with workspace() as connection:
        return load_background(connection, params, name)


def load_background(connection: DuckDBPyConnection, params: Params, name: str) -> str:
    """Write train, catalogue or users and the quality file, on refusal neither; says what was read."""
    file = params.background[name]  # type: ignore[index]
    path = Path(params.results.data) / f"{name}.parquet"
    read = {"train": _load_train, "items": _load_items, "users": _load_users}[name]
    with unchanged(Path(file.path)):
        quality = read(connection, file, path)
    write_json(Path(params.results.quality) / f"{name}.json", quality)
    return in_numbers(quality)


def _load_train(
    connection: DuckDBPyConnection, entry: BackgroundFile, into: Path
) -> dict[str, Any]:
    key, path = "background.train", Path(entry.path)
    refuse_missing(key, path)
    columns = {str(ours): theirs for ours, theirs in entry.columns.items()}
    file = InputFile(
        key, path, format_of(key, path, entry.format), ("user", "item"), ("time",), columns
    )
    source = read_source(connection, file)
    checks = [*list_checks(source), *time_checks(source)]
    if problems := value_problems(connection, source, checks):
        raise InputError(problems)
    first = ", min(time) AS time" if "time" in source.columns else ""
    query = f"SELECT user, item{first} FROM source GROUP BY user, item ORDER BY user, item"
    write_query(connection, query, into)
    return describe(connection, source)


def _load_items(
    connection: DuckDBPyConnection, entry: BackgroundFile, into: Path
) -> dict[str, Any]:
    frame, quality = _read_frame("items", entry)
    if frame.schema.get("categories") == pl.String:
        frame = frame.with_columns(pl.col("categories").str.split(SEPARATOR))
    path = quality["path"]
    try:
        catalogue = catalogue_of(frame)
    except ValueError as error:
        what, _, fix = str(error).rpartition("; ")
        raise refuse(path, what or str(error), fix or "mend the file") from None
    known = [name for name in ("item", "categories", "vector", "title") if name in frame.columns]
    frame = frame.select(known)
    if "title" in known:
        frame = frame.with_columns(pl.col("title").cast(pl.String))
    connection.register("catalogue", frame.to_arrow())
    write_query(connection, "SELECT * FROM catalogue ORDER BY item", into)
    features = next((name for name in ("categories", "vector") if name in known), None)
    return quality | {"features": None if catalogue.features is None else features}


def _load_users(
    connection: DuckDBPyConnection, entry: BackgroundFile, into: Path
) -> dict[str, Any]:
    """All columns that hold one plain value a user: `segments` chooses among them."""
    frame, quality = _read_frame("users", entry)
    path = quality["path"]
    if "user" not in frame.columns:
        what = f"column 'user' is missing; the columns are: {', '.join(frame.columns)}"
        raise refuse(
            path, what, "name the file's own column: `background.users.columns: {user: …}`"
        )
    wrong = frame.filter(pl.col("user").is_null() | pl.col("user").is_duplicated())
    if len(wrong):
        user = wrong["user"][0]
        what = "a row has no user" if user is None else f"user {user!r} stands more than once"
        raise refuse(path, what, "keep one row a user")
    plain = [name for name, kind in frame.schema.items() if not kind.is_nested()]
    connection.register("users", frame.select("user", pl.col(plain).exclude("user")).to_arrow())
    write_query(connection, "SELECT * FROM users ORDER BY user", into)
    return quality


def _read_frame(name: str, entry: BackgroundFile) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A small table under our names, and what is known of its file."""
    key, path = f"background.{name}", Path(entry.path)
    refuse_missing(key, path)
    form = format_of(key, path, entry.format)
    if form not in _READERS:
        raise refuse(f"{path}", f"is {form}", "give it as parquet, csv, tsv or jsonl")
    try:
        frame = _READERS[form](path)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        what = f"is damaged or no {form} ({' '.join(str(error).split())[:200]})"
        raise refuse(str(path), what, "write or copy the file again") from None
    named = {theirs: ours for ours, theirs in entry.columns.items()}
    frame = frame.rename({theirs: named[theirs] for theirs in frame.columns if theirs in named})
    known = hashes(path)
    return frame, {
        "path": path.as_posix(),
        "format": form,
        "sha256": known.sha256,
        "md5": known.md5,
        "bytes": known.bytes,
        "rows": len(frame),
    }


if __name__ == "__main__":
    run(main)
