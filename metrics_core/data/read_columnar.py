"""Read columnar tables (parquet, Arrow IPC, tables in memory); columns keep their types."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, islice

import pyarrow as pa

from concord.metrics_core.data.arrow import kind_of
from concord.metrics_core.data.columnar_files import (
    Batches,
    Part,
    damaged_file_problem,
    open_parts,
)
from concord.metrics_core.data.input_table import ROW_STRIDE, InputTable, Kind, RawRows, role_of
from concord.metrics_core.data.object_stores import has_store_failure
from concord.metrics_core.data.row_filter import RowFilter
from concord.metrics_core.data.table_layout import (
    Numbers,
    RowBuilder,
    TableLayout,
    count_empty_lists,
    filter_rows,
    find_layout,
    is_ranked_by_index,
    list_errors,
)
from concord.metrics_core.errors import (
    MAX_PROBLEMS,
    AffectedRows,
    Problem,
    problem_with_counts,
    raise_problems,
)

BATCH_ROWS = 131_072
LIST_BATCH_ROWS = 2_048  # rows that hold a whole list
SAME_TYPES = "write all parts with the same types"
_TYPE_FIXES = {
    "id": "write ids as integers or text",
    "rank": "write it as numbers",
    "number": "write it as numbers",
    "time": "write times as timestamps or numbers",
}


def row_number(position: int) -> str:
    """Return `row 1` for position 0."""
    return f"row {position + 1:,}"


def read_columnar(file: InputTable, rank_base: int) -> RawRows:
    parts = open_parts(file)
    schema = unite_schemas(parts)
    head = file.rows.slice(0, 1).to_pylist() if file.rows is not None else []
    layout = find_layout(file, schema, head[0] if head else None)
    first_rank = rank_base if is_ranked_by_index(file, layout, schema) else None
    kinds = _column_kinds(file, parts, layout)
    is_encoded = file.format == "parquet" and not layout.has_lists  # as parquet stores text
    encoded = [name for name in ("user", "item") if is_encoded and kinds.get(name) == "text"]
    builder = RowBuilder(layout, kinds, first_rank, encoded)
    n_read: list[int] = []  # rows of each part that are read so far
    raw = RawRows(builder.output_kinds, _row_namer(file, parts, n_read, has_lists=layout.has_lists))
    raw.filter = RowFilter(file.where)
    raw.unread_columns, raw.aliases = layout.unread_columns(schema.names), layout.aliases
    if not layout.has_lists:
        raw.rows = sum(part.rows for part in parts if part.rows is not None) or None
    raw.batches = pa.RecordBatchReader.from_batches(
        builder.schema, _read_batches(file, parts, builder, raw, n_read)
    )
    return raw


def _read_batches(
    file: InputTable, parts: list[Part], builder: RowBuilder, raw: RawRows, n_read: list[int]
) -> Batches:
    """Yield the rows of each part up to the first that cannot be read; add to `raw.problems`."""
    layout = builder.layout
    max_rows = LIST_BATCH_ROWS if layout.has_lists else BATCH_ROWS
    for part in parts:
        n_read.append(0)
        try:
            for batch in part.batches(layout.read_columns, max_rows):
                # Damaged text would pass for another id, or crash its reader.
                batch.validate(full=True)
                rows, kept = filter_rows(layout, batch, raw.filter)
                if problems := _list_problems(file, part, layout, rows, kept + n_read[-1]):
                    raw.problems += problems
                else:
                    raw.n_empty += count_empty_lists(layout, rows)
                    yield builder.build(rows, kept + sum(n_read))
                n_read[-1] += len(batch)
        except (pa.ArrowException, OSError) as error:
            raw.problems.append(damaged_file_problem(part.path, error))
            if has_store_failure(raw.problems):
                return


def _list_problems(
    file: InputTable, part: Part, layout: TableLayout, batch: pa.RecordBatch, row_numbers: Numbers
) -> list[Problem]:
    row_name = file.row_name or row_number
    fix = "write one list a user, and lists of scores, ranks and grades of the same length"
    problems = []
    for row, message in islice(list_errors(layout, batch), MAX_PROBLEMS):
        name = row_name(int(row_numbers[row]))
        affected = AffectedRows((-1,), (name,), rows=None, users=None, message=message)
        problems.append(problem_with_counts(f"{part.path}: {name}", fix, affected))
    return problems


def unite_schemas(parts: list[Part]) -> pa.Schema:
    """Return every column of every part, with the first type that is not null."""
    fields = list(parts[0].schema)
    index_of = {field.name: index for index, field in enumerate(fields)}
    for part in parts[1:]:
        for field in part.schema:
            index = index_of.setdefault(field.name, len(fields))
            if index == len(fields):
                fields.append(field)
            elif pa.types.is_null(fields[index].type):
                fields[index] = field
    return pa.schema(fields)


def _column_kinds(file: InputTable, parts: list[Part], layout: TableLayout) -> dict[str, Kind]:
    """Return the kind of each column; raise if parts differ."""
    kinds: dict[str, Kind] = {}
    problems: list[Problem] = []
    for name in layout.columns:
        types = [layout.type_of(part.schema, name) for part in parts]
        typed = (n for n, t in enumerate(types) if t is not None and not pa.types.is_null(t))
        first = next(typed, 0)
        kind = _kind(name, types[first])
        kinds[name] = kind or "text"
        column = f"column {layout.original_name(name)!r}"
        if kind is None:
            fix = _TYPE_FIXES[role_of(name)]
            problems.append(Problem(f"{file.name}: {column}", _type_message(types[first]), fix))
            continue
        for part, part_type in zip(parts, types, strict=True):
            if part_type is None:
                message = f"is missing, but {types[first]} in {parts[first].name}"
            elif not pa.types.is_null(part_type) and _kind(name, part_type) != kind:
                message = f"is {part_type}, but {types[first]} in {parts[first].name}"
            else:
                continue
            problems.append(Problem(f"{part.path}: {column}", message, SAME_TYPES))
    raise_problems(problems)
    return kinds


def _kind(name: str, column_type: pa.DataType | None) -> Kind | None:
    """Return the kind of a type; None if it cannot be used.

    A column without values may be of any kind.
    """
    if column_type is None:
        return None
    if pa.types.is_null(column_type):
        return "text" if role_of(name) == "id" else "float"
    return kind_of(name, column_type)


def _type_message(column_type: pa.DataType | None) -> str:
    if column_type is None:
        return "holds one value a row, but the items are in lists"
    return f"is of type {column_type}"


def _row_namer(
    file: InputTable, parts: list[Part], n_read: list[int], *, has_lists: bool
) -> Callable[[int], str]:
    row_name = file.row_name or row_number

    def name_row(position: int) -> str:
        starts = [0, *accumulate(n_read)]
        row, list_index = divmod(position, ROW_STRIDE) if has_lists else (position, 0)
        part = bisect_right(starts, row, hi=len(n_read)) - 1
        index = f", list position {list_index}" if has_lists else ""
        name = f"{row_name(row - starts[part])}{index}"
        return name if len(parts) == 1 else f"{parts[part].name}, {name}"

    return name_row
