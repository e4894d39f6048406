"""Reference reader of files: slow, and independent of the pipeline's readers."""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.fuzz_cases import Case, Row

PLURALS = {"items": "item", "ranks": "rank", "scores": "score", "grades": "grade"}
RESULT = {
    "lists": "lists/m",
    "truth": "data/truth",
    "train": "data/train",
    "items": "data/items",
    "users": "data/users",
}


def compare(case: Case, rows: list[Row] | None = None) -> tuple[str, str]:
    """Compare the rows that were read with the expected ones.

    Parameters
    ----------
    case : Case
        The case with its expected rows, or a file to read.
    rows : list of dict, optional
        Rows that were read. Default: those that a stage wrote.

    Returns
    -------
    (str, str)
        Outcome and message: `right`, `wrong`, `accepted` if plain reading refuses the file, or
        `unchecked` if it does not read this format.
    """
    table, path = case.table, Path(case.path)
    name = path.name.removesuffix(".gz")
    if case.rows is None and name.endswith((".parquet", ".arrow")):
        return "unchecked", ""
    if rows is None:
        rows = pl.read_parquet(f"results/{RESULT[table]}.parquet").to_dicts()
    try:
        expected = NORMALISE[table](
            list(_rows(path, name, table)) if case.rows is None else case.rows
        )
    except (ValueError, KeyError, csv.Error) as error:
        return "accepted", f"{table} {path}: plain reading says {error!r}: {rows}"[:400]
    actual = NORMALISE[table](rows)
    return (
        ("right", "")
        if actual == expected
        else ("wrong", f"{table} {path}: {actual} is not {expected}"[:600])
    )


def _rows(path: Path, name: str, table: str) -> Iterator[Row]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode(
        "utf-8-sig", errors="surrogateescape"
    )
    if name.endswith((".csv", ".tsv")):
        delimiter = "," if name.endswith(".csv") else "\t"
        lines = [
            row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row
        ]
        yield from (dict(zip(lines[0], row, strict=True)) for row in lines[1:])
    elif name.endswith(".jsonl"):
        yield from _json_rows(text)
    else:
        names = (
            ("user", "_", "item", "grade")
            if table == "truth"
            else ("user", "_", "item", "rank", "score", "_")
        )
        for line in text.split("\n"):
            if line.strip():
                yield dict(zip(names, re.split(r"[ \t\r\f\v]+", line.strip(" \t\r")), strict=True))


def _json_rows(text: str) -> Iterator[Row]:
    for line in text.split("\n"):
        if line.strip(" \r"):
            row = _json(line)
            if not any(isinstance(row.get(key), list) for key in PLURALS):
                yield row
                continue
            columns = {name: row[plural] for plural, name in PLURALS.items() if plural in row}
            for rank, values in enumerate(zip(*columns.values(), strict=True), start=1):
                yield {"user": row["user"], "rank": rank} | dict(zip(columns, values, strict=True))


def _json(line: str) -> Row:
    try:
        return dict(json.loads(line))
    except ValueError:  # DuckDB accepts a comma before a bracket
        return dict(json.loads(re.sub(r",(\s*[}\]])", r"\1", line)))


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        msg = f"{value!r} is not an id"
        raise ValueError(msg)  # noqa: TRY004 - a wrong value of the file
    return str(value)


def _lists(rows: list[Row]) -> dict[str, list[str]]:
    """Return the items of each user, by rank if there is one, else by score."""
    lists: dict[str, list[tuple[float, str]]] = {}
    for row in rows:
        order = float(row["rank"]) if row.get("rank") is not None else -float(row["score"])
        lists.setdefault(_id(row["user"]), []).append((order, _id(row["item"])))
    return {user: [item for _, item in sorted(items)] for user, items in lists.items()}


def _truth(rows: list[Row]) -> dict[tuple[str, str], float]:
    return {(_id(row["user"]), _id(row["item"])): float(row.get("grade", 1)) for row in rows}


NORMALISE: dict[str, Callable[[list[Row]], Any]] = {
    "lists": _lists,
    "truth": _truth,
    "train": lambda rows: {(_id(row["user"]), _id(row["item"])) for row in rows},
    "items": lambda rows: {_id(row["item"]) for row in rows},
    "users": lambda rows: {_id(row["user"]) for row in rows},
    "held": lambda rows: rows,
    "history": lambda rows: rows,
    "damaged": lambda rows: rows,
}
