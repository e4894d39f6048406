"""A small table with columns of any kind (catalogue, users): one row an id, its other columns as they are."""

from dataclasses import replace

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
from duckdb import DuckDBPyConnection

from metrics_core.row_checks import in_words, only_row
from pipeline.checks import InputError, Problem, refuse
from pipeline.loading.input_file import InputFile
from pipeline.loading.list_checks import id_checks, value_problems
from pipeline.loading.read_columnar import opened_parts
from pipeline.loading.read_text import DELIMITERS, header_of, unpacked, unreadable
from pipeline.loading.sources import Source, read_source


def read_table(connection: DuckDBPyConnection, file: InputFile) -> tuple[pl.DataFrame, Source]:
    """The table under our names, its ids checked; `file.needs` is the one column of ids.

    Raises
    ------
    InputError : the file cannot be read as a table, an id is missing, wrong or stands twice
    """
    (key,) = file.needs
    if file.format == "trec":
        raise refuse(str(file.path), "is trec", "give it as parquet, arrow, csv, tsv or jsonl")
    source = read_source(connection, replace(file, may_have=()))
    other = "item" if key == "user" else "user"
    connection.execute(f"ALTER TABLE source ADD COLUMN {other} VARCHAR")
    problems = value_problems(connection, source, id_checks(source, key))
    problems += _repeated(connection, source, key)
    if problems:
        raise InputError(problems)
    query = f"SELECT {key} FROM source ORDER BY position"
    ids = pl.from_arrow(connection.sql(query).to_arrow_reader().read_all()[key])
    assert isinstance(ids, pl.Series)
    frame = _frame(file)
    named = {theirs: ours for ours, theirs in file.columns.items()}
    frame = frame.rename({theirs: named[theirs] for theirs in frame.columns if theirs in named})
    return frame.with_columns(ids.alias(key)), source


def _repeated(connection: DuckDBPyConnection, source: Source, key: str) -> list[Problem]:
    groups = f"""(SELECT {key}, count(*) - 1 AS later, list_sort(list(position))[:2] AS places
                  FROM source WHERE {key} IS NOT NULL GROUP BY {key} HAVING count(*) > 1)"""
    (count,) = only_row(connection, f"SELECT coalesce(sum(later), 0)::BIGINT FROM {groups}")
    if not count:
        return []
    known, places = only_row(
        connection, f"SELECT {key}, places FROM {groups} ORDER BY places LIMIT 1"
    )
    where = " and ".join(source.raw.place(position) for position in places)
    what = f"{key} {known!r} stands more than once; {in_words(count, 'row')} affected"
    return [Problem(f"{source.file.path}: {where}", what, f"keep one row for each {key}")]


def _frame(file: InputFile) -> pl.DataFrame:
    """The columns as the file has them; text of CSV stays text, what is empty is missing."""
    try:
        if file.format in DELIMITERS:
            found = pl.from_arrow(_delimited(file))
        elif file.format == "jsonl":
            with unpacked(file.path) as opened:
                found = pl.read_ndjson(opened.read(), infer_schema_length=None)
        else:
            parts = opened_parts(file)
            names = parts[0].schema.names
            table = pa.concat_tables(
                pa.Table.from_batches(part.batches(names), part.schema) for part in parts
            )
            table.validate(full=True)
            found = pl.from_arrow(table.replace_schema_metadata(None))
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError) as error:
        raise InputError(unreadable(file.path, error)) from None
    assert isinstance(found, pl.DataFrame)
    return found


def _delimited(file: InputFile) -> pa.Table:
    delimiter = DELIMITERS[file.format]
    texts = dict.fromkeys(header_of(file, delimiter), pa.string())
    with unpacked(file.path) as opened:
        return pc.read_csv(
            opened,
            parse_options=pc.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pc.ConvertOptions(
                column_types=texts, strings_can_be_null=True, null_values=[""]
            ),
        )
