"""Read JSONL: one user a line with lists (`items` [and `scores`], or of structs), or one row."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

import duckdb
import pyarrow as pa

from concord.metrics_core.data.input_table import (
    GRADE_NAME,
    GRADE_WORDS,
    PLURALS,
    ROW_STRIDE,
    InputTable,
    RawRows,
    is_row_level,
)
from concord.metrics_core.data.table_layout import TableLayout, find_layout, is_ranked_by_index
from concord.metrics_core.data.text_files import filled_lines, read_lines
from concord.metrics_core.errors import refuse

# SQL that is true for an invalid line, and what is wrong with it.
LineChecks = list[tuple[str, str]]
MAX_EMPTY = 10_000  # lines with an empty list before the first that shows the layout


def read_jsonl(connection: duckdb.DuckDBPyConnection, file: InputTable, rank_base: int) -> RawRows:
    first = first_object(file)
    schema = pa.schema({key: _arrow_type(value) for key, value in first.items()})
    layout = find_layout(file, schema)
    columns = layout.columns
    _refuse_same_case_insensitive(file, list(columns.values()))
    raw = read_lines(file)
    raw.unread_columns, raw.aliases = layout.unread_columns(first), layout.aliases
    raw.kinds = dict.fromkeys(columns, "json")
    connection.register("lines", raw.batches)
    is_plural = layout.has_lists and not layout.struct_column
    names = PLURALS if is_plural else {name: name for name in file.fields}
    present = {key.lower() for key in columns.values()}
    absent = [names[name] for name in file.fields if name in names and name not in columns]
    absent = [key for key in absent if key.lower() not in present]
    needs_grade = "grade" in file.optional and "grade" not in columns
    checks = _late_key_checks(layout, absent, check_grades=needs_grade)
    if layout.has_lists:
        first_rank = rank_base if is_ranked_by_index(file, layout, schema) else None
        query = _list_query(layout, first_rank, absent, checks)
        raw.marks_empty = True
        if first_rank is not None:
            raw.kinds["rank"] = "integer"
    else:
        query = _row_query(layout, absent, checks)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW raw AS {query}")
    raw.row_name = lambda position: f"line {position // ROW_STRIDE:,}"
    raw.has_line_errors = True
    return raw


def _arrow_type(value: Any) -> pa.DataType:
    """Return the type that decides the layout: lists, lists of structs, or single values."""
    if not isinstance(value, list):
        return pa.null()
    fields = value[0] if value and isinstance(value[0], dict) else None
    return pa.list_(pa.null() if fields is None else pa.struct(dict.fromkeys(fields, pa.null())))


def _refuse_same_case_insensitive(file: InputTable, keys: list[str]) -> None:
    """Raise for keys that differ only in case: DuckDB ignores case when it reads JSON."""
    for key in keys:
        same = [other for other in keys if other.lower() == key.lower()]
        if len(same) > 1:
            message = f"the keys {' and '.join(map(repr, same))} differ only in case"
            raise refuse(file.name, message, "give each key its own name")


def first_object(file: InputTable) -> dict[str, Any]:
    """Return the first line; if it has an empty list, the next line that has none."""
    with closing(filled_lines(file.path)) as lines:
        line = next(lines, "")
        first = _parse(line)
        if first is None:
            message = f"starts with {line[:60]!r}, which is not a JSON object"
            raise refuse(f"{file.path}", message, "write one JSON object a line")
        if [] in first.values():
            others = map(_parse, islice(lines, MAX_EMPTY))
            first = next((other for other in others if other and [] not in other.values()), first)
        return first


def _parse(line: str) -> dict[str, Any] | None:
    """Return the JSON object of a line; None if it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _list_query(
    layout: TableLayout, first_rank: int | None, absent: list[str], late_key_checks: LineChecks
) -> str:
    """Return a query with one row for each item of the lists, ranked from `first_rank`, if set.

    A list without items has a row with index 0, see `RawRows.marks_empty`.
    """
    columns, structs = layout.columns, layout.struct_column
    row_keys = {name: key for name, key in columns.items() if is_row_level(name)}
    keys = {name: key for name, key in columns.items() if name not in row_keys}
    lists = {name: _list_sql(layout, key) for name, key in keys.items()}
    rank = "" if first_rank is None else f", list_index + {first_rank - 1} AS rank"
    types: dict[str, Any] = dict.fromkeys(row_keys.values(), "JSON")
    if structs:
        types[structs] = [dict.fromkeys([*keys.values(), *absent], "JSON")]
    else:
        types |= {key: ["JSON"] for key in keys.values()} | dict.fromkeys(absent, "JSON")
    checks = [
        ("j IS NULL", "is not a JSON object"),
        (f"{lists['item']} IS NULL", f"has no list `{structs or columns['item']}`"),
    ]
    for name, values in lists.items():
        differs = f"len({values}) IS DISTINCT FROM len({lists['item']})"
        checks.append((differs, f"`{columns[name]}` is not as long as `{columns['item']}`"))
    checks += late_key_checks
    has_items = f"line_error IS NULL AND len({lists['item']}) > 0"
    unnested = ", ".join(
        f"unnest(CASE WHEN {has_items} THEN {values} ELSE [NULL] END) AS {name}"
        for name, values in lists.items()
    )
    ids = ", ".join(f"j.{_identifier(key)} AS {name}" for name, key in row_keys.items())
    parsed = _parse_query(types, checks, layout.where)
    indices = f"""CASE WHEN {has_items} THEN range(1, len({lists["item"]}) + 1)
        WHEN line_error IS NULL THEN [0] ELSE [1] END"""
    return f"""
        SELECT line * {ROW_STRIDE} + list_index AS position,
            {", ".join([*row_keys, *lists])}{rank}, line_error
        FROM (
            SELECT line, {ids}, {unnested},
                unnest({indices}) AS list_index, line_error
            FROM ({parsed}))"""


def _list_sql(layout: TableLayout, key: str) -> str:
    """Return SQL of the list of one value of each item."""
    if not layout.struct_column:
        return f"j.{_identifier(key)}"
    return f"[s.{_identifier(key)} FOR s IN j.{_identifier(layout.struct_column)}]"


def _row_query(layout: TableLayout, absent: list[str], late_key_checks: LineChecks) -> str:
    columns = layout.columns
    selected = ", ".join(f"j.{_identifier(key)} AS {name}" for name, key in columns.items())
    checks = [("j IS NULL", "is not a JSON object"), *late_key_checks]
    types = dict.fromkeys([*columns.values(), *absent], "JSON")
    parsed = _parse_query(types, checks, layout.where)
    return f"SELECT line * {ROW_STRIDE} AS position, {selected}, line_error FROM ({parsed})"


def _late_key_checks(layout: TableLayout, absent: list[str], *, check_grades: bool) -> LineChecks:
    """Return checks for keys that only later lines have.

    Their values would be lost, as the first line defines the columns.
    """
    has_value = (
        "len(list_filter({}, lambda v: v IS NOT NULL)) > 0"
        if layout.struct_column
        else "{} IS NOT NULL"
    )
    checks = [
        (has_value.format(_list_sql(layout, key)), f"has `{key}`, which the first line lacks")
        for key in absent
    ]
    if check_grades:  # under any of their names, in any case
        in_line = f"regexp_matches(line, '{GRADE_WORDS}', 'i')"
        is_name = f"regexp_full_match(trim(k), '{GRADE_NAME}', 'i')"
        in_keys = f"len(list_filter(json_keys(line), lambda k: {is_name})) > 0"
        condition = f"CASE WHEN {in_line} AND json_valid(line) THEN {in_keys} ELSE FALSE END"
        checks.append((condition, "has a key that may hold the grade, which the first line lacks"))
    return checks


def _parse_query(
    types: dict[str, Any], checks: LineChecks, where: Mapping[str, Sequence[str]]
) -> str:
    """Return a query of the lines as structs `j`, with the first problem of each.

    Objects without the values of the filter `where` are left out.
    """
    is_object = "json_valid(line) AND json_type(line) = 'OBJECT'"
    kept = " AND ".join(
        f"coalesce(json_extract_string(line, {_text(_path(key))}) "
        f"IN ({', '.join(map(_text, texts))}), FALSE)"
        for key, texts in where.items()
    )
    checks = [*checks, (_has_duplicate_key(types), "has a duplicate key")]
    cases = " ".join(f"WHEN {condition} THEN {_text(message)}" for condition, message in checks)
    return f"""
        SELECT number AS line, j, CASE {cases} END AS line_error
        FROM (
            SELECT position AS number, line,
                CASE WHEN {is_object} THEN from_json(line, {_text(json.dumps(types))}) END AS j
            FROM lines
            WHERE trim(line) <> '' AND CASE WHEN {is_object} THEN {kept or "TRUE"} ELSE TRUE END)"""


def _has_duplicate_key(keys: Iterable[str]) -> str:
    """Return SQL that is true if a line has a duplicate key; DuckDB would read one of the values.

    The keys of a line are listed only if the text of one of `keys` occurs again in it: listing them
    takes as long as reading the line. A duplicate in an escaped spelling is therefore not noticed.
    """
    texts = [json.dumps(key, ensure_ascii=False) for key in keys]
    again = " OR ".join(
        f"contains(line[strpos(line, {_text(text)}) + {len(text)}:], {_text(text)})"
        for text in texts
    )
    has_duplicate = "len(json_keys(line)) > len(list_distinct(json_keys(line)))"
    return f"CASE WHEN {again} THEN {has_duplicate} END"


def _path(key: str) -> str:
    """Return a key as a path of JSON."""
    return '$."' + key.replace('"', '\\"') + '"'


def _identifier(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"
