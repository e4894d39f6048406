"""Read JSON: one object of all queries, {query: {document: number}} or {query: [document, …]}.

The numbers are scores of recommendations or grades of ground truth; lists are best first. MTEB
saves predictions of this form below the keys of a subset and a split.
"""

import io
import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa

from concord.metrics_core.data.arrow import as_arrow
from concord.metrics_core.data.column_names import guess_columns
from concord.metrics_core.data.formats import format_fix
from concord.metrics_core.data.input_table import InputTable, Kind, RawRows
from concord.metrics_core.data.text_files import open_unpacked, refuse_columns
from concord.metrics_core.errors import InputError, refuse

BATCH_ROWS = 131_072
CHUNK = 1 << 22  # characters that are read at a time
JSON_LINES = "write JSON lines: `frame.to_json('….jsonl', orient='records', lines=True)`"
FORM = "write {query: {document: number}}, or {query: [document, …]} with the best first"
_MTEB = "mteb_model_meta"  # the first key of MTEB's predictions
_SURROGATE = re.compile("[\ud800-\udfff]")
_RECORDS = re.compile(r"\[[ \t\r\n]*\{")
_BLANK = re.compile(r"[ \t\r\n]*")
Query = tuple[str, Any]  # id and documents: a list, or `_Object` with numbers


class _Object(NamedTuple):
    """Keys and values of a JSON object, in which a key may be duplicate."""

    keys: tuple[str, ...]
    values: tuple[Any, ...]


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    return _Object(*zip(*pairs, strict=True)) if pairs else _Object((), ())


# Numbers stay text, to be parsed as those of other text files.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=str, parse_int=str, parse_constant=str
)


def read_json(file: InputTable, rank_base: int) -> RawRows:
    """Return the raw rows of JSON by query; ranks in its lists start at `rank_base`."""
    _, first = next(_queries(file), ("", None))
    refuse_columns(file, "JSON by query")
    kinds: dict[str, Kind] = {"user": "text", "item": "text"}
    if not isinstance(first, list):
        kinds |= {name: "text" for name in ("score", "grade") if name in file.fields}
    elif "rank" in file.fields:
        kinds["rank"] = "integer"
    types = {name: pa.int64() if kind == "integer" else pa.string() for name, kind in kinds.items()}
    schema = pa.schema({"position": pa.int64(), **types})
    raw = RawRows(kinds, lambda position: f"pair {position + 1:,}")

    def batches() -> Iterator[pa.RecordBatch]:
        n_rows = 0
        try:
            for queries in _chunks(file, list if isinstance(first, list) else _Object):
                batch = _batch(file, schema, queries, n_rows, rank_base)
                n_rows += len(batch)
                raw.n_empty += sum(not _items(documents) for _, documents in queries)
                yield batch
        except InputError as error:
            raw.problems.extend(error.problems)

    raw.batches = pa.RecordBatchReader.from_batches(schema, batches())
    return raw


def _chunks(file: InputTable, form: type) -> Iterator[list[Query]]:
    """Yield queries with about BATCH_ROWS documents."""
    chunk: list[Query] = []
    known: set[str] = set()
    n_rows = 0
    for query, documents in _queries(file):
        location = f"{file.name}: query {query!r}"
        if query in known:
            raise refuse(location, "occurs more than once", "write all its documents at once")
        if not isinstance(documents, form):
            fix = FORM
            if "user" in guess_columns([query]):
                fix = f"if each line is a row, {format_fix(file.settings, 'jsonl')}; else {FORM}"
            raise refuse(location, f"holds {_excerpt(documents)}", fix)
        known.add(query)
        chunk.append((query, documents))
        n_rows += len(_items(documents))
        if n_rows >= BATCH_ROWS:
            yield chunk
            chunk, n_rows = [], 0
    if chunk:
        yield chunk


def _batch(
    file: InputTable, schema: pa.Schema, queries: Sequence[Query], n_earlier: int, rank_base: int
) -> pa.RecordBatch:
    try:
        return _build(schema, queries, n_earlier, rank_base)
    except (pa.ArrowException, TypeError, UnicodeError):
        checked = [(query, _checked(file, query, cells)) for query, cells in queries]
        return _build(schema, checked, n_earlier, rank_base)


def _build(
    schema: pa.Schema, queries: Sequence[Query], n_earlier: int, rank_base: int
) -> pa.RecordBatch:
    """Return one row for each document; its rank in a list is its index, from `rank_base`."""
    lists = [_items(documents) for _, documents in queries]
    lengths = [len(items) for items in lists]
    rows = np.repeat(np.arange(len(queries)), lengths)
    items = list(chain.from_iterable(lists))
    columns = {
        "position": as_arrow(np.arange(n_earlier, n_earlier + len(items))),
        "user": pa.array([query for query, _ in queries], pa.string()).take(as_arrow(rows)),
        "item": pa.array(items, pa.string()),
    }
    if "rank" in schema.names:
        ranks = [np.arange(rank_base, rank_base + length) for length in lengths]
        columns["rank"] = as_arrow(np.concatenate(ranks))
    for name in schema.names[len(columns) :]:
        numbers = chain.from_iterable(documents.values for _, documents in queries)
        columns[name] = pa.array(list(numbers), pa.string())
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)


def _items(documents: Any) -> Sequence[Any]:
    return documents.keys if isinstance(documents, _Object) else documents


def _checked(file: InputTable, query: str, documents: Any) -> Any:
    """Return the documents of a query, true and false as text.

    Raises
    ------
    InputError
        If an id is not text in UTF-8, or a value is a list or an object.
    """
    items = _items(documents)
    values = getattr(documents, "values", [None] * len(items))
    for item, value in zip(items, values, strict=True):
        location = f"{file.name}: query {query!r}, document {_excerpt(item)}"
        if not isinstance(item, str):
            raise refuse(location, "is not text", "write ids as text")
        if isinstance(value, _Object | list):
            raise refuse(location, f"holds {_excerpt(value)}, which is not a number", FORM)
        if _SURROGATE.search(f"{query}{item}{value}"):
            raise refuse(location, "holds half of a surrogate pair", "write the ids as UTF-8")
    return _Object(
        tuple(items), tuple(str(v).lower() if isinstance(v, bool) else v for v in values)
    )


def _excerpt(value: Any) -> str:
    is_object = isinstance(value, _Object)
    return repr(dict(zip(*value, strict=True)) if is_object else value)[:60]


def _queries(file: InputTable) -> Iterator[Query]:
    """Yield the queries of a file, whose text is decoded query by query."""
    with open_unpacked(file.path) as packed:
        text = _Text(file, io.TextIOWrapper(packed, encoding="utf-8-sig"))
        if text.peek() == "[" and _RECORDS.match(text.text, text.index):
            raise refuse(file.name, "is a list of rows", f"{JSON_LINES}; or {FORM}")
        members = _members(text)
        first = next(members, None)
        if first == _MTEB:
            text.value()
            yield from _predictions(text, members)
        elif first is not None:
            for key in chain([first], members):
                yield key, text.value()
        if text.peek():
            raise text.error()


def _predictions(text: "_Text", subsets: Iterator[str]) -> Iterator[Query]:
    """Yield the queries of MTEB's predictions, which must be of one subset and split."""
    parts: set[str] = set()
    for subset in subsets:
        for split in _members(text):
            parts.add(f"{subset}/{split}")
            if len(parts) > 1:
                message = f"holds several predictions: {', '.join(sorted(parts))} …"
                raise refuse(text.table.name, message, "write those of one subset and split")
            for query in _members(text):
                yield query, text.value()


def _members(text: "_Text") -> Iterator[str]:
    """Yield the keys of an object; the value of each must be read before the next."""
    text.take("{")
    while text.peek() != "}":
        if text.peek() != '"':
            raise text.error()
        key = text.value()
        text.take(":")
        yield key
        if text.peek() != "}":
            text.take(",")
            if text.peek() == "}":
                raise text.error()
    text.take("}")


class _Text:
    """Text of a JSON file that is read in chunks and decoded value by value."""

    def __init__(self, table: InputTable, file: IO[str]) -> None:
        self.table, self.file = table, file
        self.text, self.index, self.n_lines = "", 0, 0

    def value(self) -> Any:
        """Return the next value."""
        self.peek()
        while True:
            try:
                value, self.index = _DECODER.raw_decode(self.text, self.index)
            except (ValueError, RecursionError):
                if not self._read_more():
                    raise self.error() from None
            else:
                return value

    def take(self, expected: str) -> None:
        """Skip an expected character."""
        if self.peek() != expected:
            raise self.error()
        self.index += 1

    def peek(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while True:
            blank = _BLANK.match(self.text, self.index)
            self.index = blank.end() if blank else self.index
            if self.index < len(self.text) or not self._read_more():
                return self.text[self.index : self.index + 1]

    def error(self) -> InputError:
        """Return the error for text that is not JSON."""
        line = self.n_lines + self.text.count("\n", 0, self.index) + 1
        rest = self.text[self.index : self.index + 60]
        message = f"{rest!r} is not expected here" if rest else "the file ends within the JSON"
        return refuse(f"{self.table.name}: line {line:,}", message, FORM)

    def _read_more(self) -> bool:
        """Read at least as much as is left, so that a long value is decoded a few times only."""
        rest = self.text[self.index :]
        try:
            more = self.file.read(max(CHUNK, len(rest)))
        except UnicodeDecodeError as error:
            message = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
            raise refuse(self.table.name, message, "save the file as UTF-8") from None
        self.n_lines += self.text.count("\n", 0, self.index)
        self.text, self.index = rest + more, 0
        return bool(more)
