"""Read small tables (catalogue, users) of any format as polars frames."""

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc

from concord.metrics_core.data.arrow_types import as_value, decode, decoded_type, value_type
from concord.metrics_core.data.columnar_files import Part, damaged_file_problem, open_parts
from concord.metrics_core.data.formats import DELIMITERS
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.read_columnar import BATCH_ROWS, SAME_TYPES, unite_schemas
from concord.metrics_core.data.text_files import (
    MAX_LINE_BYTES,
    iter_lines,
    open_unpacked,
    read_header,
    read_problems,
)
from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse

_KIND_NAMES = {bool: "true or false", int: "number", float: "number", str: "text", dict: "object"}


def read_cells(file: InputTable) -> tuple[pl.DataFrame, dict[str, str], list[str]]:
    """Return the columns of the file other than its ids, under their original names.

    Returns
    -------
    frame : pl.DataFrame
        The optional columns of the file, or all if it declares none. Values of CSV stay text; empty
        text is missing.
    unusable : dict
        Type of each column that is left out because of its type.
    names : list of str
        Names of all columns of the file.

    Raises
    ------
    InputError
        If the file is damaged, or its parts or lines do not fit together.
    """
    key = file.original_name(file.required[0])

    def is_read(name: str) -> bool:
        return name != key and (not file.optional or name in file.requested)

    try:
        if file.format == "jsonl":
            frame, names = _read_jsonl(file, is_read)
            frame.to_arrow()  # raises for integers beyond 64 bits
            return frame, {}, names
        if file.format in DELIMITERS:
            names = read_header(file, DELIMITERS[file.format])
            return pl.DataFrame(_read_delimited(file, [key, *filter(is_read, names)])), {}, names
        parts = open_parts(file)
        names = unite_schemas(parts).names
        unusable = _unusable_types(parts, [*filter(is_read, names)])
        used = [name for name in names if is_read(name) and name not in unusable]
        return pl.DataFrame(_read_parts(file, parts, [key, *used])), unusable, names
    except InputError:
        raise
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError) as error:
        raise InputError(read_problems(file.path, error)) from None


def _read_jsonl(file: InputTable, is_read: Callable[[str], bool]) -> tuple[pl.DataFrame, list[str]]:
    """Return the selected keys, with line numbers instead of ids, and the names of all keys."""
    key = file.original_name(file.required[0])
    names: dict[str, None] = {}
    kinds: dict[str, set[str]] = {}
    lines = []
    with open_unpacked(file.path) as text_file:
        for number, line in enumerate(iter_lines(text_file, file.path), start=1):
            if not line.strip():
                continue
            row = _parse_object(line, f"{file.name}: line {number:,}")
            names |= dict.fromkeys(row)
            row = {name: value for name, value in row.items() if is_read(name)}
            for name, value in row.items():
                kinds.setdefault(name, set()).update(_kinds(value))
            lines.append(json.dumps({key: number} | row))
    for name, column_kinds in kinds.items():
        if len(column_kinds) > 1:
            message = f"has values of different kinds: {', '.join(sorted(column_kinds))}"
            fix = "write values of one kind in all lines"
            raise refuse(f"{file.name}: column {name!r}", message, fix)
    return pl.read_ndjson("\n".join(lines).encode(), infer_schema_length=None), list(names)


def _parse_object(line: bytes, location: str) -> dict[str, Any]:
    def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            raise refuse(location, "has a duplicate key", "fix the line, or remove it")
        return values

    try:
        return dict(json.loads(line.decode("utf-8-sig"), object_pairs_hook=unique_keys))
    except RecursionError:
        raise refuse(location, "is nested too deeply", "write values without nesting") from None


def _kinds(value: Any) -> set[str]:
    """Return kinds such as `number`, `text`, `list of text`; nothing for a missing value."""
    if isinstance(value, list):
        return {f"list of {kind}" for element in value for kind in _kinds(element)}
    return set() if value is None else {_KIND_NAMES[type(value)]}


def _read_delimited(file: InputTable, names: list[str]) -> pa.Table:
    with open_unpacked(file.path) as text_file:
        return pc.read_csv(
            text_file,
            pc.ReadOptions(block_size=MAX_LINE_BYTES),
            pc.ParseOptions(delimiter=DELIMITERS[file.format], newlines_in_values=True),
            pc.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=names,
                strings_can_be_null=True,
                null_values=[""],
            ),
        )


def _unusable_types(parts: list[Part], names: list[str]) -> dict[str, str]:
    """Return the type of each column of an unusable type; raise if a part lacks a column."""
    raise_problems(
        Problem(f"{part.path}: column {name!r}", "is missing, and other parts have it", SAME_TYPES)
        for part in parts
        for name in names
        if name not in part.schema.names
    )
    return {
        name: str(kind)
        for part in parts
        for name in names
        if value_type(kind := decoded_type(part.schema.field(name).type)) is None
    }


def _read_parts(file: InputTable, parts: list[Part], names: list[str]) -> pa.Table:
    tables = [_read_part(part, names) for part in parts]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        message = f"has parts of different types ({str(error).splitlines()[0][:200]})"
        raise refuse(file.name, message, SAME_TYPES) from None


def _read_part(part: Part, names: list[str]) -> pa.Table:
    schema = pa.schema(
        [(name, value_type(decoded_type(part.schema.field(name).type))) for name in names]
    )
    batches = []
    try:
        for batch in part.batches(names, BATCH_ROWS):
            batch.validate(full=True)
            columns = [as_value(decode(batch.column(name))) for name in names]
            batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    except (pa.ArrowException, OSError) as error:
        raise InputError([damaged_file_problem(part.path, error)]) from None
    return pa.Table.from_batches(batches, schema)
