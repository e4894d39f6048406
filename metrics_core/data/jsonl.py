"""Read JSONL: one user a line with lists (`items`, and optionally `scores`), or one row a line."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import duckdb

from concord.metrics_core.data.input_table import (
    GRADES,
    LINES,
    NAME_OF_GRADES,
    PLURAL,
    InputTable,
    Kind,
    RawRows,
    choose_columns,
    is_row_level,
)
from concord.metrics_core.data.text_files import first_line, read_lines
from concord.metrics_core.errors import refuse


def read_jsonl(connection: duckdb.DuckDBPyConnection, file: InputTable, rank_base: int) -> RawRows:
    first = _first_object(file)
    of_users = {"user", "item"} <= set(file.needs)
    chosen = choose_columns(_with_plurals(file, first) if of_users else file, list(first))
    _refuse_alike(file, list(chosen.values()))
    raw = read_lines(file)
    raw.others = tuple(key for key in first if key not in chosen.values())
    connection.register("lines", raw.batches)
    nested = of_users and isinstance(first.get(chosen.get("item", "")), list)
    names = PLURAL if nested else {name: name for name in file.fields}
    taken = {key.lower() for key in chosen.values()}
    late = [names[name] for name in file.fields if name in names and name not in chosen]
    late = [key for key in late if key.lower() not in taken]
    later = _only_later(late, grades="grade" in file.may_have and "grade" not in chosen)
    shape = dict.fromkeys(late, "JSON")
    if nested:
        listed = "grade" not in file.fields
        query, raw.kinds = _nested(chosen, rank_base, shape, later, listed=listed)
    else:
        query, raw.kinds = _flat(chosen, shape, later)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW raw AS {query}")
    raw.row_name = lambda position: f"line {position // LINES:,}"
    raw.marked = True
    return raw


def _with_plurals(file: InputTable, first: dict[str, Any]) -> InputTable:
    """Return the file with `items` for `item` and so on, if its lines have them."""
    plurals = {name: key for name, key in PLURAL.items() if name in file.fields and key in first}
    return replace(file, columns=plurals | dict(file.columns))


def _refuse_alike(file: InputTable, keys: list[str]) -> None:
    """Refuse keys that differ in capitals only: DuckDB does not tell them apart when it reads JSON."""
    for key in keys:
        same = [other for other in keys if other.lower() == key.lower()]
        if len(same) > 1:
            what = f"the keys {' and '.join(map(repr, same))} differ in capitals only"
            raise refuse(file.name, what, "give each key its own name")


def _first_object(file: InputTable) -> dict[str, Any]:
    line = first_line(file.path)
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        first = None
    if not isinstance(first, dict):
        what = f"begins with {line[:60]!r}, which is not a JSON object"
        raise refuse(f"{file.path}", what, "write one JSON object a line")
    return first


def _nested(
    chosen: dict[str, str],
    rank_base: int,
    late: dict[str, str],
    later: list[tuple[str, str]],
    *,
    listed: bool,
) -> tuple[str, dict[str, Kind]]:
    """Return a query with one row for each place of the lists; the place is the rank, unless there is a list of ranks."""
    of_row = {name: key for name, key in chosen.items() if is_row_level(name)}
    lists = {name: f"j.{_quoted(key)}" for name, key in chosen.items() if name not in of_row}
    numbered = listed and "rank" not in lists
    rank = f", place + {rank_base - 1} AS rank" if numbered else ""
    shape = {key: ["JSON"] for name, key in chosen.items() if name not in of_row}
    wrong = [
        ("j IS NULL", "is not a JSON object"),
        (f"{lists['item']} IS NULL", f"has no list `{chosen['item']}`"),
    ]
    for name, values in lists.items():
        differs = f"len({values}) IS DISTINCT FROM len({lists['item']})"
        wrong.append((differs, f"`{chosen[name]}` is not as long as `{chosen['item']}`"))
    wrong += later
    unnested = ", ".join(
        f"unnest(CASE WHEN line_wrong IS NULL THEN {values} ELSE [NULL] END) AS {name}"
        for name, values in lists.items()
    )
    ids = ", ".join(f"j.{_quoted(key)} AS {name}" for name, key in of_row.items())
    parsed = _parsed(dict.fromkeys(of_row.values(), "JSON") | shape | late, wrong)
    places = f"CASE WHEN line_wrong IS NULL THEN range(1, len({lists['item']}) + 1) ELSE [1] END"
    query = f"""
        SELECT line * {LINES} + place AS position, {", ".join([*of_row, *lists])}{rank}, line_wrong
        FROM (
            SELECT line, {ids}, {unnested},
                unnest({places}) AS place, line_wrong
            FROM ({parsed}))"""
    kinds: dict[str, Kind] = dict.fromkeys(chosen, "json")
    return query, kinds | (dict.fromkeys(["rank"], "integer") if numbered else {})


def _flat(
    chosen: dict[str, str], late: dict[str, str], later: list[tuple[str, str]]
) -> tuple[str, dict[str, Kind]]:
    columns = ", ".join(f"j.{_quoted(key)} AS {name}" for name, key in chosen.items())
    wrong = [("j IS NULL", "is not a JSON object"), *later]
    parsed = _parsed(dict.fromkeys(chosen.values(), "JSON") | late, wrong)
    query = f"SELECT line * {LINES} AS position, {columns}, line_wrong FROM ({parsed})"
    return query, dict.fromkeys(chosen, "json")


def _only_later(late: list[str], *, grades: bool) -> list[tuple[str, str]]:
    """Return checks for keys that only later lines have: they would be lost, as the first line defines the columns."""
    found = [
        (f"j.{_quoted(key)} IS NOT NULL", f"has `{key}`, which the first line has not")
        for key in late
    ]
    if grades:  # under any of their names, in capitals or not
        in_line = f"regexp_matches(line, '{GRADES}', 'i')"
        is_name = f"regexp_full_match(trim(k), '{NAME_OF_GRADES}', 'i')"
        in_keys = f"len(list_filter(json_keys(line), lambda k: {is_name})) > 0"
        what = "has a key that may hold the grade, which the first line has not"
        found.append(
            (f"CASE WHEN {in_line} AND json_valid(line) THEN {in_keys} ELSE FALSE END", what)
        )
    return found


def _parsed(shape: dict[str, Any], wrong: list[tuple[str, str]]) -> str:
    """Return a query of the lines as structs `j`, with the first problem of each."""
    wrong = [*wrong, (_has_repeated_key(shape), "has a duplicate key")]
    cases = " ".join(f"WHEN {condition} THEN {_text(what)}" for condition, what in wrong)
    return f"""
        SELECT number AS line, j, CASE {cases} END AS line_wrong
        FROM (
            SELECT position AS number, line,
                CASE WHEN json_valid(line) AND json_type(line) = 'OBJECT'
                    THEN from_json(line, {_text(json.dumps(shape))}) END AS j
            FROM lines WHERE trim(line) <> '')"""


def _has_repeated_key(keys: Iterable[str]) -> str:
    """Return a condition that is true if a line has a duplicate key; DuckDB would read one of the values.

    The keys of a line are listed only if the text of one of `keys` occurs again in it: listing them takes as long as
    reading the line. A key that is repeated in an escaped spelling is therefore not noticed.
    """
    texts = [json.dumps(key, ensure_ascii=False) for key in keys]
    again = " OR ".join(
        f"contains(line[strpos(line, {_text(text)}) + {len(text)}:], {_text(text)})"
        for text in texts
    )
    return (
        f"""CASE WHEN {again} THEN len(json_keys(line)) > len(list_distinct(json_keys(line))) END"""
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"
