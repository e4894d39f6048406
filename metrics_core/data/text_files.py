"""Read CSV, TSV and TREC files and the lines of text files, also as `.gz`. All values are text."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice, zip_longest
from typing import IO, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from concord.metrics_core.data.arrow import as_arrow
from concord.metrics_core.data.formats import COPY_AGAIN, DELIMITERS, format_fix
from concord.metrics_core.data.input_table import InputTable, RawRows
from concord.metrics_core.data.object_stores import is_store_failure, store_problem
from concord.metrics_core.data.paths import AnyPath, open_sequential
from concord.metrics_core.data.row_filter import RowFilter
from concord.metrics_core.data.table_layout import RowBuilder, filter_rows, find_layout
from concord.metrics_core.errors import MAX_PROBLEMS, InputError, Problem, refuse

MAX_ROW_BYTES = 1 << 22  # of CSV; also the bytes that are read at a time
MAX_LINE_BYTES = 1 << 24  # the same for files that are read line by line
DELIMITER_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_MAX_EXCERPT = 300  # characters of a line in a message
_BOM = b"\xef\xbb\xbf"
_NO_DELIMITER = "\x01"  # a control character that no line of JSON or TREC may contain


def read_delimited(file: InputTable) -> RawRows:
    delimiter = DELIMITERS[file.format]
    header = read_header(file, delimiter)
    if not {*map(file.original_name, file.required)} <= {*header}:
        _refuse_trec_line(file, delimiter.join(header))
    first = next((row for row, _ in islice(_rows(file.path, delimiter), 1, None) if row), ())
    values = dict(zip_longest(header, first[: len(header)]))
    layout = find_layout(file, pa.schema([(name, pa.string()) for name in header]), values)
    builder = RowBuilder(layout, dict.fromkeys(layout.columns, "text"))
    raw = RawRows(builder.output_kinds, partial(_line_name, file.path, delimiter))
    raw.filter = RowFilter(file.where)
    raw.unread_columns, raw.aliases = layout.unread_columns(header), layout.aliases
    invalid_rows: list[Any] = []

    def skip(row: Any) -> str:
        invalid_rows.append(row)
        return "skip"

    parse = pc.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip)
    reader = _open_csv(file.path, MAX_ROW_BYTES, parse, layout.read_columns)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in _readable_batches(reader, file.path, raw):
            n_earlier = raw.filter.n_given
            rows, kept = filter_rows(layout, batch, raw.filter)
            yield builder.build(rows, kept + n_earlier)
        if invalid_rows:
            raw.problems.extend(_width_problems(file.path, delimiter, len(header)))

    raw.batches = pa.RecordBatchReader.from_batches(builder.schema, batches())
    return raw


def read_lines(file: InputTable) -> RawRows:
    """Read the lines of a file, numbered from 1, as a column `line`."""
    raw = RawRows({}, lambda position: f"line {position:,}", filter=RowFilter(file.where))
    parse = pc.ParseOptions(delimiter=_NO_DELIMITER, quote_char=False, ignore_empty_lines=False)
    reader = _open_csv(file.path, MAX_LINE_BYTES, parse, ["line"], column_names=["line"])
    schema = pa.schema({"line": pa.string(), "position": pa.int64()})

    def numbered() -> Iterator[pa.RecordBatch]:
        start = 1
        for batch in _readable_batches(reader, file.path, raw):
            position = as_arrow(np.arange(start, start + len(batch)))
            rows = pa.RecordBatch.from_arrays([*batch.columns, position], schema=schema)
            start += len(batch)
            yield rows.filter(_kept_lines(rows, raw.filter)) if file.where else rows

    raw.batches = pa.RecordBatchReader.from_batches(schema, numbered())
    return raw


def _kept_lines(rows: pa.RecordBatch, filter_: RowFilter) -> pa.Array:
    return pa.array([filter_.keeps_line(line) for line in rows.column(0).to_pylist()], pa.bool_())


def filled_lines(path: AnyPath) -> Generator[str]:
    """Yield the lines that are not blank."""
    with open_unpacked(path) as file:
        lines = iter_lines(file, path)
        texts = (line.decode("utf-8-sig", errors="replace").strip() for line in lines)
        yield from filter(None, texts)


def first_line(path: AnyPath) -> str:
    """Return the first line that is not blank, or an empty text."""
    with closing(filled_lines(path)) as lines:
        return next(lines, "")


def iter_lines(file: IO[bytes], path: AnyPath) -> Iterator[bytes]:
    """Yield the lines.

    Raises
    ------
    InputError
        If a line is longer than MAX_LINE_BYTES.
    """
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise InputError([_length_problem(f"{path}: line {number:,}", "is")])
        yield line


def _length_problem(location: str, verb: str) -> Problem:
    limit = f"{MAX_LINE_BYTES >> 20} MiB; CSV: {MAX_ROW_BYTES >> 20} MiB"
    fix = "check the line ends, and look for a quote that is opened and never closed"
    return Problem(location, f"{verb} longer than the limit ({limit})", fix)


@contextmanager
def open_unpacked(path: AnyPath) -> Iterator[IO[bytes]]:
    try:
        with path.open("rb") as packed:
            # GzipFile is not declared as IO[bytes], but behaves as one.
            yield gzip.GzipFile(fileobj=packed) if path.suffix == ".gz" else packed  # type: ignore[misc]
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        message = f"is not a complete gzip file ({error})"
        raise refuse(str(path), message, "compress or copy the file again") from None
    except OSError as error:
        if is_store_failure(str(path), error):
            raise InputError([store_problem(str(path), error)]) from None
        raise


def _open_csv(
    path: AnyPath,
    block_size: int,
    parse: pc.ParseOptions,
    names: list[str],
    column_names: list[str] | None = None,
) -> pc.CSVStreamingReader:
    convert = pc.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=names,
        strings_can_be_null=False,
    )
    compression = "gzip" if path.suffix == ".gz" else None
    options = pc.ReadOptions(block_size=block_size, column_names=column_names)
    try:
        return pc.open_csv(open_sequential(path, compression), options, parse, convert)
    except (pa.ArrowException, OSError) as error:
        raise InputError(read_problems(path, error)) from None


def _readable_batches(
    reader: pc.CSVStreamingReader, path: AnyPath, raw: RawRows
) -> Iterator[pa.RecordBatch]:
    """Yield the batches up to the first that cannot be read; the reason goes to `raw`."""
    try:
        yield from reader
    except (pa.ArrowInvalid, OSError) as error:
        raw.problems.extend(read_problems(path, error))


def read_problems(path: AnyPath, error: Exception) -> list[Problem]:
    """Return the problems of a text file whose reading raised an error."""
    if is_store_failure(str(path), error):
        return [store_problem(str(path), error)]
    detail = " ".join(str(error).split())[:300]
    if "straddl" in detail:
        return [_length_problem(str(path), "has a row that is")]
    if "Empty CSV" in detail:
        fix = "check what wrote it; its header has to end with a line break"
        return [Problem(str(path), "has no rows", fix)]
    problems = []
    if "utf8" in detail.lower().replace("-", ""):
        problems = list(islice(_encoding_problems(path), MAX_PROBLEMS))
    return problems or [Problem(str(path), f"cannot be read: {detail}", COPY_AGAIN)]


def _encoding_problems(path: AnyPath) -> Iterator[Problem]:
    with open_unpacked(path) as file:
        for number, line in enumerate(iter_lines(file, path), start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                message = f"byte 0x{line[error.start]:02x} is not UTF-8"
                yield Problem(f"{path}: line {number:,}", message, "save the file as UTF-8")


def read_header(file: InputTable, delimiter: str) -> list[str]:
    """Return the column names of the first line that is not empty."""
    number, first = _first_nonempty_line(file.path)
    location = f"{file.name}: line {number}"
    line = first.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")
    excerpt = repr(line.strip()[:_MAX_EXCERPT])
    if "\ufffd" in line and b"\xef\xbf\xbd" not in first:
        raise InputError(read_problems(file.path, ValueError("not UTF-8")))
    if line.count('"') % 2:
        message = f"a quote is opened and not closed: {excerpt}"
        raise refuse(location, message, "close the quote, or remove it")
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        message = f"the name of a column is longer than {csv.field_size_limit():,} characters"
        fix = "start the file with one line of column names"
        raise refuse(location, message, fix) from None
    others = (char for char in DELIMITER_NAMES if char != delimiter and char in line)
    if len(names) == 1 and (other := next(others, None)):
        _refuse_trec_line(file, line.strip())
        actual, expected = DELIMITER_NAMES[other], DELIMITER_NAMES[delimiter]
        message = f"the columns are separated by {actual}, not by {expected}: {excerpt}"
        fixes = [f"separate them by {expected}"]
        fixes += [
            format_fix(file.settings, name) for name, char in DELIMITERS.items() if char == other
        ]
        raise refuse(location, message, ", or ".join(fixes))
    return names


def _first_nonempty_line(path: AnyPath) -> tuple[int, bytes]:
    """Return number and text of the first line that is not empty."""
    number = 0
    with open_unpacked(path) as file:
        for lines in iter_lines(file, path):
            for line in re.split(rb"\r\n|[\r\n]", lines.removesuffix(b"\n").removesuffix(b"\r")):
                number += 1
                if line.removeprefix(_BOM):
                    return number, line
    return 1, b""


def _line_name(path: AnyPath, delimiter: str, position: int) -> str:
    """Return the name of the line at which a row starts.

    Blank lines are not rows, and a quoted value may span lines.
    """
    n_rows = -1  # the header
    start = 1
    for row, end in _rows(path, delimiter):
        if row and n_rows == position:
            return f"line {start:,}"
        n_rows += bool(row)
        start = end + 1
    return f"row {position + 1:,}"


def _width_problems(path: AnyPath, delimiter: str, width: int) -> list[Problem]:
    fix = "give each row one value a column; quote values that contain the separator"
    problems = [
        Problem(
            f"{path}: line {line:,}",
            f"has {len(row)} values, but the header has {width} columns",
            fix,
        )
        for row, line in _rows(path, delimiter)
        if row and len(row) != width
    ]
    return problems[:MAX_PROBLEMS] or [
        Problem(str(path), f"has rows of more or fewer values than its {width} columns", fix)
    ]


def _rows(path: AnyPath, delimiter: str) -> Iterator[tuple[list[str], int]]:
    """Yield the values of each row and the line at which it ends, until Python cannot parse one."""
    with open_unpacked(path) as file, suppress(csv.Error):
        # Without `newline` also \r ends a line.
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace")
        rows = csv.reader(text, delimiter=delimiter)
        for row in rows:
            yield row, rows.line_num


_RUN_LINE = ("user", "Q0", "item", "rank", "score", "tag")
_SHORT_RUN_LINE = ("user", "item", "rank")  # of MS MARCO
_SHORT_RUN = re.compile(r"\s*\S+\s+\S+\s+\d+\s*")
# First lines of TREC files with tabs in a file that should have column names.
_FIRST_OF_RUN = re.compile(r"[^\t]+\t[^\t]+\t([01]|[^\t]+\t\d+\t-?\d[^\t]*\t[^\t]+)")
_FIRST_OF_QRELS = re.compile(r"[^\t]+\tQ?0\t[^\t]+\t-?\d+")
_QRELS_LINE = ("user", "0", "item", "grade")
ITERATION = "iteration"  # name of the second field of qrels; the subtopic in diversity qrels


def refuse_columns(file: InputTable, kind: str) -> None:
    """Raise an InputError if column names or a unit are set for a file without columns."""
    for setting, is_set in (("columns", file.columns), ("where", file.where)):
        if is_set:
            fix = f"leave out {file.settings.of_table(setting)}"
            raise refuse(file.name, f"{kind} has no column names", fix)
    if file.unit:
        message = f"{kind} has no column {next(iter(file.unit.values()))!r}"
        raise refuse(
            file.name,
            message,
            f"write another format, or change {file.settings.name('data', 'unit')}",
        )


def trec_kind(line: str) -> str:
    """Return `run` or `qrels` for such a line of TREC with tabs; empty for names of columns."""
    patterns = {"run": _FIRST_OF_RUN, "qrels": _FIRST_OF_QRELS}
    return next((kind for kind, each in patterns.items() if each.fullmatch(line)), "")


def _refuse_trec_line(file: InputTable, line: str) -> None:
    """Raise an InputError if the first line is one of a TREC file, not column names."""
    is_run = "score" in file.optional
    is_trec = trec_kind(line) == ("run" if is_run else "qrels")
    if {*file.required, "grade"} == {"user", "item", "grade"} and is_trec:
        kind, values = "a TREC run" if is_run else "TREC qrels", " ".join(line.split())
        rename = "give the file the ending .trec"
        fix = rename if file.is_additional else format_fix(file.settings, "trec")
        raise refuse(file.name, f"looks like {kind}: {values!r}", fix)


def _trec_line(file: InputTable) -> tuple[str, ...]:
    """Return the values of a line, as the file's name says or, for other names, its role."""
    endings = file.path.suffixes
    is_run = ".run" in endings or "score" in file.optional
    if "grade" in file.fields or ".qrels" in endings or not is_run:
        return _QRELS_LINE
    return _SHORT_RUN_LINE if _SHORT_RUN.fullmatch(first_line(file.path)) else _RUN_LINE


def read_trec(connection: duckdb.DuckDBPyConnection, file: InputTable) -> RawRows:
    if file.columns.get("subtopic", ITERATION) != ITERATION:
        fix = (
            f"its second field is {file.settings.of_table('columns', 'subtopic', value=ITERATION)}"
        )
        raise refuse(file.name, "a TREC file has no column names", fix)
    others = {name: column for name, column in file.columns.items() if name != "subtopic"}
    refuse_columns(replace(file, columns=others), "a TREC file")
    line = _trec_line(file)
    reads_rank = file.order == "rank" or line is _SHORT_RUN_LINE
    read = {name for name in file.fields if name != "rank" or reads_rank}
    indices = {name: index for index, name in enumerate(line, start=1) if name in read}
    if "subtopic" in file.columns:
        indices["subtopic"] = _QRELS_LINE.index("0") + 1
    raw = read_lines(file)
    connection.register("lines", raw.batches)
    columns = ", ".join(f"part[{index}] AS {name}" for name, index in indices.items())
    is_invalid = f"len(part) <> {len(line)}"
    message = f"'has ' || len(part) || ' values, not the {len(line)} of `{' '.join(line)}`'"
    connection.execute(f"""
        CREATE OR REPLACE TEMP VIEW raw AS
        SELECT position, {columns}, CASE WHEN {is_invalid} THEN {message} END AS line_error
        FROM (
            SELECT position,
                CASE WHEN line = trim(line)
                        AND NOT contains(line, '  ') AND NOT contains(line, chr(9))
                    THEN string_split(line, ' ')  -- four times as fast as the expression
                    ELSE string_split_regex(trim(line, ' ' || chr(9)), '\\s+') END AS part
            FROM lines WHERE trim(line, ' ' || chr(9)) <> '')""")
    raw.kinds = dict.fromkeys(indices, "text")
    raw.has_line_errors = True
    return raw
