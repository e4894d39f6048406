"""JSON lines as a small table: each key a column, its values of one kind."""

import json
from collections.abc import Callable
from typing import Any

import polars as pl

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.formats.text import lines_of, unpacked

_KINDS = {bool: "true or false", int: "number", float: "number", str: "text", dict: "object"}


def json_cells(file: InputTable, keeps: Callable[[str], bool]) -> tuple[pl.DataFrame, list[str]]:
    """The keys that are kept, and in the place of the ids the numbers of the lines; and the names of all keys.

    Raises
    ------
    InputError : a line has a key twice, values of a key are of different kinds
    """
    ids = file.theirs(file.needs[0])
    kinds: dict[str, set[str]] = {}
    names: dict[str, None] = {}
    kept = []
    with unpacked(file.path) as opened:
        for number, line in enumerate(lines_of(opened, file.path), start=1):
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
            raise refuse(where, "has a key twice", "fix the line, or remove it")
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
    """`number`, `text`, `list of text` …; nothing for what is missing."""
    if isinstance(value, list):
        inner = {kind for each in value for kind in _kinds(each)}
        return {f"list of {kind}" for kind in inner}
    return set() if value is None else {_KINDS[type(value)]}
