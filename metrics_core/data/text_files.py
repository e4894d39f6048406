"""Read text files: CSV, TSV, lines and TREC files, also as `.gz`. All values are text."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from concord.metrics_core.data.columnar import find_layout, row_builder
from concord.metrics_core.data.input_table import InputTable, RawRows
from concord.metrics_core.data.numbers import as_arrow
from concord.metrics_core.data.object_stores import is_store_failure, store_problem
from concord.metrics_core.data.paths import AnyPath, open_sequential
from concord.metrics_core.errors import MAX_PROBLEMS, InputError, Problem, refuse

BLOCK = 1 << 22  # bytes of CSV that are read at a time; a row may be as long
LONGEST = 1 << 24  # the same for files that are read line by line
DELIMITERS = {"csv": ",", "tsv": "\t"}
NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
SHOWN = 300  # characters of a line in a message
BOM = b"\xef\xbb\xbf"
NO_DELIMITER = "\x01"  # a control character that no line of JSON or TREC may hold


def read_delimited(file: InputTable, rank_base: int) -> RawRows:
    delimiter = DELIMITERS[file.format]
    header = read_header(file, delimiter)
    shape = find_layout(file, pa.schema([(name, pa.string()) for name in header]))
    rows = row_builder(file, shape, dict.fromkeys(shape.chosen, "text"), rank_base)
    raw = RawRows(rows.made, partial(_line_of, file.path, delimiter))
    raw.others = shape.others(header)
    ragged: list[Any] = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "skip"

    parse = pc.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note)
    reader = _open(file.path, BLOCK, parse, shape.reads)

    def batches() -> Iterator[pa.RecordBatch]:
        before = 0
        for batch in _decoded(reader, file.path, raw):
            yield rows.of(batch, before)
            before += len(batch)
        if ragged:
            raw.problems.extend(_ragged_lines(file.path, delimiter, len(header)))

    raw.batches = pa.RecordBatchReader.from_batches(rows.schema, batches())
    return raw


def read_lines(file: InputTable) -> RawRows:
    """Read the lines of a file, numbered from 1, as a column `line`."""
    raw = RawRows({}, lambda position: f"line {position:,}")
    parse = pc.ParseOptions(delimiter=NO_DELIMITER, quote_char=False, ignore_empty_lines=False)
    reader = _open(file.path, LONGEST, parse, ["line"], column_names=["line"])
    schema = pa.schema({"line": pa.string(), "position": pa.int64()})

    def numbered() -> Iterator[pa.RecordBatch]:
        start = 1
        for batch in _decoded(reader, file.path, raw):
            position = as_arrow(np.arange(start, start + len(batch)))
            yield pa.RecordBatch.from_arrays([*batch.columns, position], schema=schema)
            start += len(batch)

    raw.batches = pa.RecordBatchReader.from_batches(schema, numbered())
    return raw


def first_line(path: AnyPath) -> str:
    """Return the first line that is not blank, or an empty text."""
    with open_unpacked(path) as file:
        lines = iter_lines(file, path)
        return next((text for line in lines if (text := _text(line).strip())), "")


def iter_lines(file: IO[bytes], path: AnyPath) -> Iterator[bytes]:
    """Yield the lines, whose length is limited.

    Raises
    ------
    InputError : a line is longer than LONGEST
    """
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise InputError([_too_long(path, f": line {number:,}")])
        yield line


def _too_long(path: AnyPath, where: str = "") -> Problem:
    what = f"{'is' if where else 'holds a row'} longer than the limit ({LONGEST >> 20} MiB; CSV: {BLOCK >> 20} MiB)"
    fix = "check the ends of its lines, and for a quote that is opened and never closed"
    return Problem(f"{path}{where}", what, fix)


@contextmanager
def open_unpacked(path: AnyPath) -> Iterator[IO[bytes]]:
    try:
        with path.open("rb") as packed:
            yield gzip.GzipFile(fileobj=packed) if path.suffix == ".gz" else packed  # type: ignore[misc]  # GzipFile reads bytes, though it is not declared as IO
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise refuse(
            str(path), f"is not a complete gzip file ({error})", "pack or copy the file again"
        ) from None
    except OSError as error:
        if is_store_failure(str(path), error):
            raise InputError([store_problem(str(path), error)]) from None
        raise


def _open(
    path: AnyPath, block: int, parse: pc.ParseOptions, names: list[str], **read: Any
) -> pc.CSVStreamingReader:
    convert = pc.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=names,
        strings_can_be_null=False,
    )
    packed = "gzip" if path.suffix == ".gz" else None
    options = pc.ReadOptions(block_size=block, **read)
    try:
        return pc.open_csv(open_sequential(path, packed), options, parse, convert)
    except (pa.ArrowException, OSError) as error:
        raise InputError(unreadable(path, error)) from None


def _decoded(
    reader: pc.CSVStreamingReader, path: AnyPath, raw: RawRows
) -> Iterator[pa.RecordBatch]:
    """Yield the batches up to the first that cannot be read; the reason goes to `raw`."""
    try:
        yield from reader
    except (pa.ArrowInvalid, OSError) as error:
        raw.problems.extend(unreadable(path, error))


def unreadable(path: AnyPath, error: Exception) -> list[Problem]:
    """Return the lines of a text file that are not UTF-8; else the error as it is."""
    if is_store_failure(str(path), error):
        return [store_problem(str(path), error)]
    fix = "save the file as UTF-8"
    problems: list[Problem] = []
    message = " ".join(str(error).split())[:300]
    if "straddl" in message:
        return [_too_long(path)]
    if "Empty CSV" in message:
        fix = "check what made it; its line of names has to end with a line break"
        return [Problem(str(path), "holds no rows", fix)]
    if "utf8" not in message.lower().replace("-", ""):
        return [Problem(str(path), f"cannot be read: {message}", "write or copy the file again")]
    with open_unpacked(path) as file:
        for number, line in enumerate(iter_lines(file, path), start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as wrong:
                byte = line[wrong.start]
                problems.append(
                    Problem(f"{path}: line {number:,}", f"byte 0x{byte:02x} is not UTF-8", fix)
                )
                if len(problems) == MAX_PROBLEMS:
                    break
    return problems or [
        Problem(str(path), f"cannot be read: {message}", "write or copy the file again")
    ]


def read_header(file: InputTable, delimiter: str) -> list[str]:
    """Return the column names of the first line that is not empty."""
    number, first = _first_filled(file.path)
    where = f"{file.name}: line {number}"
    line = first.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")
    if "\ufffd" in line and b"\xef\xbf\xbd" not in first:
        raise InputError(unreadable(file.path, ValueError("not UTF-8")))
    if line.count('"') % 2:
        what = f"a quote is opened and not closed: {line.strip()[:SHOWN]!r}"
        raise refuse(where, what, "close the quote, or remove it")
    try:
        found = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        what = f"a name of a column is longer than {csv.field_size_limit():,} characters"
        fix = "begin the file with the names of the columns, separated and each on one line"
        raise refuse(where, what, fix) from None
    other = next((mark for mark in NAMES if mark != delimiter and mark in line), None)
    if len(found) == 1 and other:
        what = f"the columns are separated by {NAMES[other]}, not by {NAMES[delimiter]}: {line.strip()[:SHOWN]!r}"
        fix = f"separate them by {NAMES[delimiter]}" + (
            f", or set {file.settings.format('tsv')}" if other == "\t" else ""
        )
        raise refuse(where, what, fix)
    return found


def _first_filled(path: AnyPath) -> tuple[int, bytes]:
    """Return the number and text of the first line that is not empty; a carriage return alone ends lines too."""
    number = 0
    with open_unpacked(path) as opened:
        for read in iter_lines(opened, path):
            for line in re.split(rb"\r\n|[\r\n]", read.removesuffix(b"\n").removesuffix(b"\r")):
                number += 1
                if line.removeprefix(BOM):
                    return number, line
    return 1, b""


def _text(line: bytes) -> str:
    return line.decode("utf-8-sig", errors="replace")


def _line_of(path: AnyPath, delimiter: str, position: int) -> str:
    """Return the line at which a row begins; blank lines are skipped, and a quoted value may span lines."""
    numbered = -1  # the header
    begins = 1
    for row, ends in _rows(path, delimiter):
        if row and numbered == position:
            return f"line {begins:,}"
        numbered += bool(row)
        begins = ends + 1
    return f"row {position + 1:,}"


def _ragged_lines(path: AnyPath, delimiter: str, width: int) -> list[Problem]:
    fix = "give each row one value a column; quote values that hold the separator"
    problems = [
        Problem(
            f"{path}: line {line:,}",
            f"has {len(row)} values, but the header names {width} columns",
            fix,
        )
        for row, line in _rows(path, delimiter)
        if row and len(row) != width
    ]
    return problems[:MAX_PROBLEMS] or [
        Problem(str(path), f"has rows of more or fewer values than its {width} columns", fix)
    ]


def _rows(path: AnyPath, delimiter: str) -> Iterator[tuple[list[str], int]]:
    """Yield the values of each row and the line at which it ends, as far as Python's reader can parse."""
    with open_unpacked(path) as file, suppress(csv.Error):
        text = io.TextIOWrapper(
            file, encoding="utf-8-sig", errors="replace"
        )  # ends lines as \r, too
        rows = csv.reader(text, delimiter=delimiter)
        for row in rows:
            yield row, rows.line_num


RUN = {"user": 1, "item": 3, "rank": 4, "score": 5}
QRELS = {"user": 1, "item": 3, "grade": 4}
SHAPES = {
    "grade": (QRELS, 4, "user 0 item grade"),
    "score": (RUN, 6, "user Q0 item rank score tag"),
}


def read_trec(connection: duckdb.DuckDBPyConnection, file: InputTable) -> RawRows:
    if file.columns:
        fix = f"leave out {file.settings.all_columns}"
        raise refuse(file.name, "a TREC file has no column names", fix)
    if file.unit:
        what = f"a TREC file has no column {next(iter(file.unit.values()))!r}"
        raise refuse(file.name, what, f"write another format, or change {file.settings.unit}")
    judged = "grade" in file.fields or ".qrels" in file.path.suffixes
    places, width, shape = SHAPES["grade" if judged else "score"]
    places = {name: place for name, place in places.items() if name in file.fields}
    raw = read_lines(file)
    connection.register("lines", raw.batches)
    columns = ", ".join(f"part[{place}] AS {name}" for name, place in places.items())
    wrong = f"'has ' || len(part) || ' values, not the {width} of `{shape}`'"
    connection.execute(f"""
        CREATE OR REPLACE TEMP VIEW raw AS
        SELECT position, {columns}, CASE WHEN len(part) <> {width} THEN {wrong} END AS line_wrong
        FROM (
            SELECT position,
                CASE WHEN line = trim(line) AND NOT contains(line, '  ') AND NOT contains(line, chr(9))
                    THEN string_split(line, ' ')  -- four times as fast as the expression
                    ELSE string_split_regex(trim(line, ' ' || chr(9)), '\\s+') END AS part
            FROM lines WHERE trim(line, ' ' || chr(9)) <> '')""")
    raw.kinds = dict.fromkeys(places, "text")
    raw.marked = True
    return raw
