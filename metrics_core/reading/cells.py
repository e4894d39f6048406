"""The columns of a small table (catalogue, users) as polars holds them, whatever form the file has."""

from collections.abc import Callable, Iterable

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc

from metrics_core.problems import InputError, Problem, refuse
from metrics_core.reading.arrow_types import as_value, bare, bare_type, value_type
from metrics_core.reading.columnar import BATCH, SAME_TYPES, united
from metrics_core.reading.input_table import InputTable
from metrics_core.reading.json_cells import json_cells
from metrics_core.reading.parts import Part, opened_parts
from metrics_core.reading.text import DELIMITERS, LONGEST, header_of, unpacked, unreadable
from metrics_core.reading.whole_files import damaged

LeftOut = dict[str, str]  # columns of a type that is not used -> the type


def cells(file: InputTable) -> tuple[pl.DataFrame, LeftOut]:
    """The columns that the file may have, or all of them; text of CSV stays text, what is empty is missing."""
    key = file.theirs(file.needs[0])
    asked = {file.theirs(name) for name in file.may_have} | set(file.columns.values())

    def keeps(name: str) -> bool:
        return name != key and (not file.may_have or name in asked)

    left_out: LeftOut = {}
    try:
        if file.format in DELIMITERS:
            found = pl.from_arrow(_delimited(file, keeps))
        elif file.format == "jsonl":
            found = json_cells(file, keeps)
            found.to_arrow()  # refuses integers beyond 64 bits
        else:
            table, left_out = _columnar(file, keeps)
            found = pl.from_arrow(table)
    except InputError:
        raise
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError) as error:
        raise InputError(unreadable(file.path, error)) from None
    assert isinstance(found, pl.DataFrame)
    return found, left_out


def _delimited(file: InputTable, keeps: Callable[[str], bool]) -> pa.Table:
    delimiter = DELIMITERS[file.format]
    names = [name for name in header_of(file, delimiter) if keeps(name)]
    key = file.theirs(file.needs[0])
    with unpacked(file.path) as opened:
        table = pc.read_csv(
            opened,
            pc.ReadOptions(block_size=LONGEST),
            pc.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pc.ConvertOptions(
                column_types=dict.fromkeys([key, *names], pa.string()),
                include_columns=[key, *names],
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
    return table


def _columnar(file: InputTable, keeps: Callable[[str], bool]) -> tuple[pa.Table, LeftOut]:
    parts = opened_parts(file)
    key = file.theirs(file.needs[0])
    names = [field.name for field in united(parts) if keeps(field.name)]
    _refuse_lacking(parts, names)
    left_out = {
        name: str(kind)
        for part in parts
        for name in names
        if value_type(kind := bare_type(part.schema.field(name).type)) is None
    }
    used = [key, *(name for name in names if name not in left_out)]
    tables = [_table(part, used) for part in parts]
    try:
        return pa.concat_tables(tables, promote_options="permissive"), left_out
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        what = f"holds parts of different types ({str(error).splitlines()[0][:200]})"
        raise refuse(file.name, what, SAME_TYPES) from None


def _refuse_lacking(parts: list[Part], names: Iterable[str]) -> None:
    problems = [
        Problem(f"{part.path}: column {name!r}", "is missing, and other parts have it", SAME_TYPES)
        for part in parts
        for name in names
        if name not in part.schema.names
    ]
    if problems:
        raise InputError(problems)


def _table(part: Part, names: list[str]) -> pa.Table:
    types = [value_type(bare_type(part.schema.field(name).type)) for name in names]
    schema = pa.schema(list(zip(names, types, strict=True)))
    batches = []
    try:
        for batch in part.batches(names, BATCH):
            batch.validate(full=True)
            columns = [as_value(bare(batch.column(name))) for name in names]
            batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    except (pa.ArrowException, OSError) as error:
        raise InputError([damaged(part.path, error)]) from None
    return pa.Table.from_batches(batches, schema)
