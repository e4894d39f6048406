"""A small table with columns of any kind (catalogue, users): one row an id, its other columns as they are."""

import json
from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
from duckdb import DuckDBPyConnection

from metrics_core.problems import InputError, Problem, refuse
from metrics_core.reading.columnar import opened_parts
from metrics_core.reading.input_table import InputTable
from metrics_core.reading.source import Source, Watch, read_source, unwatched
from metrics_core.reading.text import DELIMITERS, header_of, unpacked, unreadable
from metrics_core.reading.value_checks import id_checks, value_problems
from metrics_core.row_checks import in_words, only_row


def read_table(
    connection: DuckDBPyConnection, file: InputTable, *, watch: Watch = unwatched
) -> tuple[pl.DataFrame, Source]:
    """The table under our names, its ids checked; `file.needs` is the one column of ids.

    Raises
    ------
    InputError : the file cannot be read as a table, an id is missing, wrong or stands twice
    """
    (key,) = file.needs
    if file.format == "trec":
        raise refuse(file.name, "is trec", "give it as parquet, arrow, csv, tsv or jsonl")
    source = read_source(connection, replace(file, may_have=()), watch=watch)
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
    _refuse_names(file, frame.columns)
    if len(frame) != len(ids):
        what = f"is damaged: {len(ids)} ids, but {len(frame)} rows"
        raise refuse(file.name, what, "write or copy the file again")
    frame = frame.rename({theirs: ours for ours, theirs in file.columns.items()})
    return frame.with_columns(ids.alias(key)), source


def _refuse_names(file: InputTable, found: list[str]) -> None:
    """Names that params.yaml maps and the file lacks, and names that would be one: DuckDB sees no capitals."""
    ours = {theirs: ours for ours, theirs in file.columns.items()}
    problems = [
        Problem(
            f"{file.name}: column {theirs!r}",
            f"is missing; the columns are: {', '.join(found)}",
            f"mend {file.settings.all_columns()}",
        )
        for theirs in ours
        if theirs not in found
    ]
    seen: dict[str, str] = {}
    for name in found:
        other = seen.setdefault(ours.get(name, name).lower(), name)
        if other != name:
            what = f"and {other!r} would be one column: they differ in capitals alone, or one is mapped to the other"
            problems.append(
                Problem(f"{file.name}: column {name!r}", what, "rename or remove one of them")
            )
    if problems:
        raise InputError(problems)


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
    return [Problem(f"{source.file.name}: {where}", what, f"keep one row for each {key}")]


def _frame(file: InputTable) -> pl.DataFrame:
    """The columns as the file has them; text of CSV stays text, what is empty is missing."""
    try:
        if file.format in DELIMITERS:
            found = pl.from_arrow(_delimited(file))
        elif file.format == "jsonl":
            found = _json_lines(file)
            found.to_arrow()  # refuses integers beyond 64 bits
        else:
            parts = opened_parts(file)
            names = parts[0].schema.names
            table = pa.concat_tables(
                pa.Table.from_batches(part.batches(names), part.schema) for part in parts
            )
            table.validate(full=True)
            found = pl.from_arrow(table.replace_schema_metadata(None))
    except InputError:
        raise
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError) as error:
        raise InputError(unreadable(file.path, error)) from None
    assert isinstance(found, pl.DataFrame)
    return found


def _json_lines(file: InputTable) -> pl.DataFrame:
    with unpacked(file.path) as opened:
        text = opened.read()
    kinds: dict[str, set[str]] = {}
    for line in text.splitlines():
        for key, value in json.loads(line).items() if line.strip() else ():
            kinds.setdefault(key, set()).update(_kinds(value))
    ids = file.theirs(file.needs[0])  # numbers and text, compared by their text
    for key, found in kinds.items():
        if "\0" in key:
            raise refuse(f"{file.name}: key {key!r}", "holds a NUL", "rename the key")
        if len(found) > 1 and key != ids:
            what = f"holds values of different kinds: {', '.join(sorted(found))}"
            fix = "write values of one kind in all lines"
            raise refuse(f"{file.name}: column {key!r}", what, fix)
    return pl.read_ndjson(text, infer_schema_length=None)


def _kinds(value: Any) -> set[str]:
    """`number`, `text`, `list of text` …; nothing for what is missing."""
    if isinstance(value, list):
        inner = {kind for each in value for kind in _kinds(each)}
        return {f"list of {kind}" for kind in inner}
    known = {bool: "true or false", int: "number", float: "number", str: "text", dict: "object"}
    return set() if value is None else {known[type(value)]}


def _delimited(file: InputTable) -> pa.Table:
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
