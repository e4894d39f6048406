"""Read and check tables of features (catalogue, users) of any format as polars frames."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.arrow import as_value, decode, decoded_type, value_type
from concord.metrics_core.data.columnar_files import Part, damaged_file_problem, open_parts
from concord.metrics_core.data.formats import DELIMITERS, FORMATS, UNNAMED
from concord.metrics_core.data.input_table import ITEMS_COLUMNS, InputTable, ambiguous_columns
from concord.metrics_core.data.read_columnar import BATCH_ROWS, SAME_TYPES, unite_schemas
from concord.metrics_core.data.read_source import Progress, Source, no_progress, read_source
from concord.metrics_core.data.text_files import (
    MAX_LINE_BYTES,
    iter_lines,
    open_unpacked,
    read_header,
    read_problems,
)
from concord.metrics_core.data.value_checks import (
    duplicate_rows,
    id_checks,
    value_problems,
)
from concord.metrics_core.errors import InputError, Problem, format_count, raise_problems, refuse

CATEGORY_SEPARATOR = "|"  # in text
MAX_GROUPS = 100
_LIST_FIXES = {
    "categories": "write a list of text, or text with `|` between categories; "
    "leave it empty for an item without categories",
    "vector": "write a list of finite numbers, of the same length for every item; "
    "leave it empty for an item without a vector",
}
_GROUP_FIX = "write one text for each item; leave it empty for an item without a group"


def read_items(
    connection: DuckDBPyConnection, table: InputTable, *, progress: Progress = no_progress
) -> tuple[pl.DataFrame, Source]:
    """Return a frame of item [, categories, vector, title, group, numbers].

    Raises
    ------
    InputError
        As `read_table`, or if a column has another type or an invalid value.
    """
    frame, source = read_table(connection, table, progress=progress)
    if frame.schema.get("categories") == pl.String:
        text = pl.col("categories")
        is_blank = text.str.strip_chars() == ""
        frame = frame.with_columns(pl.when(~is_blank).then(text.str.split(CATEGORY_SEPARATOR)))
    if frame.schema.get("categories") == pl.List(pl.String):
        stripped = pl.col("categories").list.eval(pl.element().str.strip_chars())
        frame = frame.with_columns(stripped)
    has_group = "group" in table.columns
    if has_group and not frame.schema["group"].is_nested():
        group = pl.col("group").cast(pl.String).str.strip_chars()
        frame = frame.with_columns(pl.when(group != "").then(group).alias("group"))
    numbers = [name for name in table.columns if name not in (*table.required, *ITEMS_COLUMNS[1])]
    frame = frame.with_columns(_as_number(frame, name) for name in numbers)
    raise_problems(_feature_problems(source, frame, numbers))
    features = ("item", "categories", "vector", "title", *(["group"] if has_group else []))
    return frame.select(*(name for name in features if name in frame.columns), *numbers), source


def read_table(
    connection: DuckDBPyConnection, file: InputTable, *, progress: Progress = no_progress
) -> tuple[pl.DataFrame, Source]:
    """Return the table with Concord's column names and checked ids.

    `file.required` holds the column of ids.

    Raises
    ------
    InputError
        If the file cannot be read as a table, or an id is missing, invalid or duplicate.
    """
    (key,) = file.required
    if file.format in UNNAMED:
        *others, last = (name for name in FORMATS if name not in UNNAMED)
        fix = f"give it as {', '.join(others)} or {last}"
        kind = "TREC" if file.format == "trec" else "JSON"
        raise refuse(file.name, f"is a {kind} file, which has no such columns", fix)
    source = read_source(connection, replace(file, optional=()), progress=progress)
    other = "item" if key == "user" else "user"
    connection.execute(f"ALTER TABLE source ADD COLUMN {other} VARCHAR")
    problems = value_problems(connection, source, id_checks(source, key))
    rows = f"(SELECT * FROM source WHERE {key} IS NOT NULL)"
    count, ids, row_names = duplicate_rows(connection, source, rows, (key,))
    if count:
        location = f"{file.name}: {' and '.join(row_names)}"
        message = f"{key} {ids[0]!r} occurs more than once; {format_count(count, 'row')} affected"
        problems.append(Problem(location, message, f"keep one row for each {key}"))
    raise_problems(problems)
    query = f"SELECT {key} FROM source ORDER BY position"
    key_column = pl.DataFrame(connection.sql(query).to_arrow_table())[key]
    file = replace(file, columns={**source.raw.aliases, **file.columns})
    frame, unusable, names = read_cells(file)
    fix = "write it as text or numbers"
    raise_problems(
        Problem(f"{file.name}: column {name!r}", f"is of type {kind}", fix)
        for name, kind in unusable.items()
        if name in file.requested
    )
    raise_problems(_name_problems(file, frame.columns, names))
    if len(frame) != len(key_column):
        message = f"is damaged: {len(key_column)} ids, but {len(frame)} rows"
        raise refuse(file.name, message, "write or copy the file again")
    if unusable:
        columns = ", ".join(f"{name!r} ({kind})" for name, kind in unusable.items())
        note = f"left out, as they are neither text nor numbers: {columns[:300]}"
        source = replace(source, notes=(*source.notes, note))
    frame = frame.rename({column: name for name, column in file.columns.items()})
    return frame.with_columns(key_column.alias(key)), source


def _name_problems(file: InputTable, read: list[str], names: list[str]) -> Iterator[Problem]:
    """Yield problems of mapped names that are missing, and of names that differ only in case.

    DuckDB ignores the case of names.
    """
    message = f"is missing; the columns are: {', '.join(names)}"
    fix = f"change {file.settings.of_table('columns')}"
    for column in dict.fromkeys(file.columns.values()):
        if column not in names:
            yield Problem(f"{file.name}: column {column!r}", message, fix)
    yield from ambiguous_columns(file, file.columns)
    our_names = {column: name for name, column in file.columns.items()}
    first: dict[str, str] = {}
    for column in read:
        other = first.setdefault(our_names.get(column, column).lower(), column)
        if other != column:
            message = (
                f"and {other!r} would be one column: they differ only in case, "
                "or one is mapped to the other"
            )
            location = f"{file.name}: column {column!r}"
            yield Problem(location, message, "rename or remove one of them")


def _feature_problems(
    source: Source, frame: pl.DataFrame, numbers: Sequence[str]
) -> Iterator[Problem]:
    """Yield the problems of features of items; missing numbers are allowed."""
    file, schema = source.file, frame.schema
    for name in ("categories", "vector"):
        if name in schema:
            yield from _list_problems(file.location(name), frame, name)
    if "title" in schema and schema["title"].is_nested():
        message = f"is of type {schema['title']}"
        yield Problem(file.location("title"), message, "write titles as text")
    if "group" in file.columns:
        yield from _group_problems(file.location("group"), frame["group"])
    fix = "write a finite number for every item of the ground truth"
    for name in numbers:
        if schema[name] != pl.Float64:
            yield Problem(file.location(name), f"is of type {schema[name]}", fix)
            continue
        invalid = frame.filter(pl.col(name).is_not_null() & ~pl.col(name).is_finite())
        yield from _item_problem(file.location(name), invalid, "is not a finite number", fix)


def _group_problems(location: str, groups: pl.Series) -> Iterator[Problem]:
    if groups.dtype.is_nested():
        yield Problem(location, f"is of type {groups.dtype}", _GROUP_FIX)
    elif (n := groups.n_unique()) > MAX_GROUPS + 1:  # one of them may be empty
        message = f"has {n:,} different values, but at most {MAX_GROUPS} groups are allowed"
        yield Problem(location, message, "write a coarser column")
    elif groups.null_count() == len(groups):
        yield Problem(location, "is empty for every item", _GROUP_FIX)


def _list_problems(location: str, frame: pl.DataFrame, name: str) -> Iterator[Problem]:
    """Yield the problems of lists of text (`categories`) or of numbers (`vector`)."""
    kind, fix, is_text = frame.schema[name], _LIST_FIXES[name], name == "categories"
    if kind == pl.Null:
        return
    inner = kind.inner if isinstance(kind, pl.List | pl.Array) else None
    if inner is None or not (
        inner == pl.Null or (inner == pl.String if is_text else inner.is_numeric())
    ):
        yield Problem(location, f"is of type {kind}", fix)
        return
    values = pl.col(name).arr.to_list() if isinstance(kind, pl.Array) else pl.col(name)
    lists = frame.select("item", values.alias("values")).filter(pl.col("values").list.len() > 0)
    cells = lists.explode("values").cast({"values": pl.String if is_text else pl.Float64})
    value = pl.col("values")
    if is_text:
        is_blank = value.is_null() | (value.str.strip_chars() == "")
        yield from _item_problem(location, cells.filter(is_blank), "a category is blank", fix)
        return
    invalid = cells.filter(value.is_null() | ~value.is_finite())
    yield from _item_problem(location, invalid, "a number is missing or not finite", fix)
    lengths = lists.select("item", value.list.len().alias("n"))
    invalid = lengths.filter(pl.col("n") != pl.col("n").first())
    message = f"vectors have different lengths: {lengths['n'].unique().sort().to_list()[:5]}"
    yield from _item_problem(location, invalid, message, fix)


def _item_problem(
    location: str, invalid: pl.DataFrame, message: str, fix: str
) -> Iterator[Problem]:
    if not invalid.is_empty():
        items = format_count(invalid["item"].n_unique(), "item")
        first = f"{location} (item {invalid['item'][0]!r})"
        yield Problem(first, f"{message}; {items} affected", fix)


def _as_number(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Return a column as float64; text that is not a number becomes NaN."""
    if frame.schema[name] == pl.String:
        text = pl.col(name).str.strip_chars()
        nan = pl.when(text.is_not_null()).then(float("nan"))
        return text.cast(pl.Float64, strict=False).fill_null(nan).alias(name)
    return pl.col(name).cast(pl.Float64) if frame.schema[name].is_numeric() else pl.col(name)


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
        tables = [_read_part(part, [key, *used]) for part in parts]
        table = pa.concat_tables(tables, promote_options="permissive")
        return pl.DataFrame(table), unusable, names
    except InputError:
        raise
    except pa.ArrowTypeError as error:
        message = f"has parts of different types ({str(error).splitlines()[0][:200]})"
        raise refuse(file.name, message, SAME_TYPES) from None
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
