"""Text files: CSV and TSV by columns, everything else by lines. All values are text; `.gz` is unpacked on the way."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as pc

from metrics_core.problems import AT_MOST, InputError, Problem, refuse
from metrics_core.reading.input_table import InputTable, Raw, choose_columns, with_positions

BLOCK = 1 << 22
DELIMITERS = {"csv": ",", "tsv": "\t"}
NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
NO_DELIMITER = "\x01"  # a control character that no line of JSON or TREC may hold


def read_delimited(file: InputTable) -> Raw:
    delimiter = DELIMITERS[file.format]
    header = header_of(file, delimiter)
    chosen = choose_columns(file, header)
    raw = Raw(
        dict.fromkeys(chosen, "text"), lambda position: _line_of(file.path, delimiter, position)
    )
    ragged: list[Any] = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "skip"

    reader = _open(
        file.path,
        pc.ReadOptions(block_size=BLOCK),
        pc.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            invalid_row_handler=note,
        ),
        list(chosen.values()),
    )
    schema = pa.schema(dict.fromkeys(chosen, pa.string()))

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in _decoded(reader, file.path, raw.problems):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        if ragged:
            raw.problems.extend(_ragged_lines(file.path, delimiter, len(header)))

    raw.batches = with_positions(schema, batches())
    return raw


def read_lines(file: InputTable) -> Raw:
    """The lines of a file, numbered from 1, as a column `line`."""
    raw = Raw({}, lambda position: f"line {position:,}")
    reader = _open(
        file.path,
        pc.ReadOptions(block_size=4 * BLOCK, column_names=["line"]),
        pc.ParseOptions(delimiter=NO_DELIMITER, quote_char=False, ignore_empty_lines=False),
        ["line"],
    )
    schema = pa.schema({"line": pa.string()})
    raw.batches = with_positions(schema, _decoded(reader, file.path, raw.problems), first=1)
    return raw


def first_line(path: Path) -> str:
    """The first line that is not blank, or nothing."""
    with unpacked(path) as file:
        return next((text for line in file if (text := _text(line).strip())), "")


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file  # type: ignore[misc]  # GzipFile reads bytes, though it is not declared as IO
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise refuse(
            str(path), f"is no whole gzip file ({error})", "pack or copy the file again"
        ) from None


def _open(
    path: Path, read: pc.ReadOptions, parse: pc.ParseOptions, names: list[str]
) -> pc.CSVStreamingReader:
    convert = pc.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=names,
        strings_can_be_null=False,
    )
    compression = "gzip" if path.suffix == ".gz" else None
    try:
        return pc.open_csv(
            pa.input_stream(str(path), compression=compression), read, parse, convert
        )
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(unreadable(path, error)) from None


def _decoded(
    reader: pc.CSVStreamingReader, path: Path, problems: list[Problem]
) -> Iterator[pa.RecordBatch]:
    """The batches up to the first that cannot be read; why it cannot goes to `problems`."""
    try:
        yield from reader
    except (pa.ArrowInvalid, OSError) as error:
        problems.extend(unreadable(path, error))


def unreadable(path: Path, error: Exception) -> list[Problem]:
    """Lines of a text file that are not UTF-8, by number; else the error as it is."""
    fix = "save the file as UTF-8"
    problems: list[Problem] = []
    message = " ".join(str(error).split())[:300]
    if "utf8" not in message.lower().replace("-", ""):
        return [Problem(str(path), f"cannot be read: {message}", "write or copy the file again")]
    with unpacked(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as wrong:
                byte = line[wrong.start]
                problems.append(
                    Problem(f"{path}: line {number:,}", f"byte 0x{byte:02x} is not UTF-8", fix)
                )
                if len(problems) == AT_MOST:
                    break
    return problems or [
        Problem(str(path), f"cannot be read: {message}", "write or copy the file again")
    ]


def header_of(file: InputTable, delimiter: str) -> list[str]:
    """The names of the columns, as the first line has them."""
    with unpacked(file.path) as opened:
        line = _text(first := opened.readline())
    if "\ufffd" in line and b"\xef\xbf\xbd" not in first:
        raise InputError(unreadable(file.path, ValueError("not UTF-8")))
    if line.count('"') % 2:
        what = f"a quote is opened and not closed: {line.strip()!r}"
        raise refuse(f"{file.name}: line 1", what, "close the quote, or remove it")
    found = next(csv.reader(re.split(r"[\r\n]", line)[:1], delimiter=delimiter), [])
    other = next((mark for mark in NAMES if mark != delimiter and mark in line), None)
    if len(found) == 1 and other:
        what = f"the columns are separated by {NAMES[other]}, not by {NAMES[delimiter]}: {line.strip()!r}"
        fix = f"separate them by {NAMES[delimiter]}" + (
            f", or set {file.settings.format('tsv')}" if other == "\t" else ""
        )
        raise refuse(f"{file.name}: line 1", what, fix)
    return found


def _text(line: bytes) -> str:
    return line.decode("utf-8-sig", errors="replace")


def _line_of(path: Path, delimiter: str, position: int) -> str:
    """The line at which a row begins; blank lines are no rows, and a quoted value may span lines."""
    numbered = -1  # the header
    begins = 1
    for row, ends in _rows(path, delimiter):
        if row and numbered == position:
            return f"line {begins:,}"
        numbered += bool(row)
        begins = ends + 1
    return f"row {position + 1:,}"


def _ragged_lines(path: Path, delimiter: str, width: int) -> list[Problem]:
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
    return problems[:AT_MOST] or [
        Problem(str(path), f"has rows of more or fewer values than its {width} columns", fix)
    ]


def _rows(path: Path, delimiter: str) -> Iterator[tuple[list[str], int]]:
    """The values of each row and the line at which it ends, up to what Python's reader cannot follow."""
    with unpacked(path) as file, suppress(csv.Error):
        text = io.TextIOWrapper(
            file, encoding="utf-8-sig", errors="replace"
        )  # ends lines as \r, too
        rows = csv.reader(text, delimiter=delimiter)
        for row in rows:
            yield row, rows.line_num
