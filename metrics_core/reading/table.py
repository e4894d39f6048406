"""A small table with columns of any kind (catalogue, users): one row an id, its other columns as they are."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.problems import InputError, Problem, in_words, refuse
from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.reading.columns.input_table import InputTable, shared_columns
from concord.metrics_core.reading.formats.cells import cells_of
from concord.metrics_core.reading.formats.source import Source, Watch, read_source, unwatched
from concord.metrics_core.reading.rules.value_checks import id_checks, value_problems


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
    cells = cells_of(file)
    _refuse_left_out(file, cells.left_out)
    frame = cells.frame
    _refuse_names(file, frame.columns, cells.names)
    if len(frame) != len(ids):
        what = f"is damaged: {len(ids)} ids, but {len(frame)} rows"
        raise refuse(file.name, what, "write or copy the file again")
    frame = frame.rename({theirs: ours for ours, theirs in file.columns.items()})
    return frame.with_columns(ids.alias(key)), _noted(source, cells.left_out)


def _refuse_left_out(file: InputTable, left_out: Mapping[str, str]) -> None:
    """Columns that are asked for by name, of a type that is not used."""
    asked = {file.theirs(name) for name in file.may_have} | set(file.columns.values())
    problems = [
        Problem(
            f"{file.name}: column {name!r}", f"is of type {kind}", "write it as text or numbers"
        )
        for name, kind in left_out.items()
        if name in asked
    ]
    if problems:
        raise InputError(problems)


def _noted(source: Source, left_out: Mapping[str, str]) -> Source:
    if not left_out:
        return source
    listed = ", ".join(f"{name!r} ({kind})" for name, kind in left_out.items())
    note = f"left out, since they hold neither text nor numbers: {listed[:300]}"
    return replace(source, notes=(*source.notes, note))


def _refuse_names(file: InputTable, found: list[str], names: list[str]) -> None:
    """Names that params.yaml maps and the file lacks, and names that would be one: DuckDB sees no capitals."""
    ours = {theirs: ours for ours, theirs in file.columns.items()}
    problems = [
        Problem(
            f"{file.name}: column {theirs!r}",
            f"is missing; the columns are: {', '.join(names)}",
            f"mend {file.settings.all_columns()}",
        )
        for theirs in ours
        if theirs not in names
    ]
    problems += shared_columns(file, file.columns)
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
