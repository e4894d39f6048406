"""Read small tables (catalogue, users) of any format as polars frames."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc

from concord.metrics_core.data.arrow_types import as_value, decode, decoded_type, value_type
from concord.metrics_core.data.columnar import BATCH, SAME_TYPES, united_schema
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.table_files import Part, damaged_file_problem, open_parts
from concord.metrics_core.data.text_files import (
    DELIMITERS,
    LONGEST,
    header_of,
    iter_lines,
    open_unpacked,
    unreadable,
)
from concord.metrics_core.errors import InputError, Problem, refuse

_KINDS = {bool: "true or false", int: "number", float: "number", str: "text", dict: "object"}


def json_cells(file: InputTable, keeps: Callable[[str], bool]) -> tuple[pl.DataFrame, list[str]]:
    """Return the selected keys, with line numbers in place of the ids, and the names of all keys.

    Raises
    ------
    InputError : a line has a duplicate key, values of a key are of different kinds
    """
    ids = file.theirs(file.needs[0])
    kinds: dict[str, set[str]] = {}
    names: dict[str, None] = {}
    kept = []
    with open_unpacked(file.path) as opened:
        for number, line in enumerate(iter_lines(opened, file.path), start=1):
            if not line.strip():
                continue
            held = _object(line, f"{file.name}: line {number:,}")
            names |= dict.fromkeys(held)
            row = {key: value for key, value in held.items() if key != ids and keeps(key)}
            for key, value in row.items():
                kinds.setdefault(key, set()).update(_kinds(value))
            kept.append(json.dumps({ids: number} | row))
    _refuse_mixed(file, kinds)
    return pl.read_ndjson("\n".join(kept).encode(), infer_schema_length=None), list(names)


def _object(line: bytes, where: str) -> dict[str, Any]:
    def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            raise refuse(where, "has a duplicate key", "fix the line, or remove it")
        return values

    try:
        row = json.loads(line.decode("utf-8-sig"), object_pairs_hook=unique_keys)
    except RecursionError:
        raise refuse(where, "nests too deep", "write the values without nesting") from None
    return dict(row)


def _refuse_mixed(file: InputTable, kinds: dict[str, set[str]]) -> None:
    for key, found in kinds.items():
        if len(found) > 1:
            what = f"holds values of different kinds: {', '.join(sorted(found))}"
            fix = "write values of one kind in all lines"
            raise refuse(f"{file.name}: column {key!r}", what, fix)


def _kinds(value: Any) -> set[str]:
    """Return kinds such as `number`, `text`, `list of text`; nothing for a missing value."""
    if isinstance(value, list):
        inner = {kind for each in value for kind in _kinds(each)}
        return {f"list of {kind}" for kind in inner}
    return set() if value is None else {_KINDS[type(value)]}


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
    """Return the columns of the file other than its ids.

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
            parts = open_parts(file)
            names = united_schema(parts).names
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
    with open_unpacked(file.path) as opened:
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
    """Return the columns of an unusable type; raise if parts lack a column of others."""
    _refuse_lacking(parts, names)
    return {
        name: str(kind)
        for part in parts
        for name in names
        if value_type(kind := decoded_type(part.schema.field(name).type)) is None
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
    types = [value_type(decoded_type(part.schema.field(name).type)) for name in names]
    schema = pa.schema(list(zip(names, types, strict=True)))
    batches = []
    try:
        for batch in part.batches(names, BATCH):
            batch.validate(full=True)
            columns = [as_value(decode(batch.column(name))) for name in names]
            batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    except (pa.ArrowException, OSError) as error:
        raise InputError([damaged_file_problem(part.path, error)]) from None
    return pa.Table.from_batches(batches, schema)
