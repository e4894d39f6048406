"""The columns of a small table (catalogue, users) as polars holds them, whatever form the file has."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc

from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.reading.columns.arrow_types import as_value, bare, bare_type, value_type
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.files.parts import Part, opened_parts
from concord.metrics_core.reading.files.whole_files import damaged
from concord.metrics_core.reading.formats.columnar import BATCH, SAME_TYPES, united
from concord.metrics_core.reading.formats.json_cells import json_cells
from concord.metrics_core.reading.formats.text import (
    DELIMITERS,
    LONGEST,
    header_of,
    unpacked,
    unreadable,
)


@dataclass(frozen=True)
class Cells:
    """Columns under the names of the file.

    frame    : those that the file may have, or all of them; text of CSV stays text, what is empty is missing
    left_out : those of a type that is not used -> the type
    names    : all that the file has
    """

    frame: pl.DataFrame
    left_out: dict[str, str]
    names: list[str]


def cells_of(file: InputTable) -> Cells:
    """What the file has beside its ids.

    Raises
    ------
    InputError : the file is damaged, or its parts or lines do not fit
    """
    key = file.theirs(file.needs[0])
    asked = {file.theirs(name) for name in file.may_have} | set(file.columns.values())

    def keeps(name: str) -> bool:
        return name != key and (not file.may_have or name in asked)

    left_out: dict[str, str] = {}
    try:
        if file.format in DELIMITERS:
            names = header_of(file, DELIMITERS[file.format])
            found = pl.from_arrow(_delimited(file, [name for name in names if keeps(name)]))
        elif file.format == "jsonl":
            found, names = json_cells(file, keeps)
            found.to_arrow()  # refuses integers beyond 64 bits
        else:
            parts = opened_parts(file)
            names = united(parts).names
            left_out = _left_out(parts, kept := [name for name in names if keeps(name)])
            used = [name for name in kept if name not in left_out]
            found = pl.from_arrow(_columnar(file, parts, [key, *used]))
    except InputError:
        raise
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError) as error:
        raise InputError(unreadable(file.path, error)) from None
    assert isinstance(found, pl.DataFrame)
    return Cells(found, left_out, names)


def _delimited(file: InputTable, names: list[str]) -> pa.Table:
    delimiter = DELIMITERS[file.format]
    read = [file.theirs(file.needs[0]), *names]
    with unpacked(file.path) as opened:
        return pc.read_csv(
            opened,
            pc.ReadOptions(block_size=LONGEST),
            pc.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pc.ConvertOptions(
                column_types=dict.fromkeys(read, pa.string()),
                include_columns=read,
                strings_can_be_null=True,
                null_values=[""],
            ),
        )


def _left_out(parts: list[Part], names: list[str]) -> dict[str, str]:
    """Columns of a type that is not used, and the type; refuses parts that lack a column of others."""
    _refuse_lacking(parts, names)
    return {
        name: str(kind)
        for part in parts
        for name in names
        if value_type(kind := bare_type(part.schema.field(name).type)) is None
    }


def _columnar(file: InputTable, parts: list[Part], names: list[str]) -> pa.Table:
    tables = [_table(part, names) for part in parts]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
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
