"""The filter of a table, `where`: only rows whose columns have certain values are read."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from concord.metrics_core.data.argument_types import Value

# A whole number such as `1.0`, and a day such as `2026-11-01 00:00:00`.
_WITH_ZEROS = re.compile(r"(-?[0-9]+)\.0+|([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00:00(?:\.0+)?")
MAX_VALUES = 30  # of a column that separates lists


def value_text(value: Any) -> str | None:
    """Return a value of a table or a filter as text; values are equal if their texts are.

    Whole numbers have no `.0`, as in ids, days have no time, and true is `true` in all spellings.
    """
    if value is None:
        return None
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    text = str(value)
    if without_zeros := _WITH_ZEROS.fullmatch(text):
        return without_zeros[1] or without_zeros[2]
    return text.lower() if text.lower() in ("true", "false") else text


def where_texts(where: Mapping[str, Value]) -> list[tuple[str, str]]:
    """Return columns and texts of a filter, sorted: equal for filters that keep the same rows."""
    return sorted((name, value_text(value) or "") for name, value in where.items())


class RowFilter:
    """Keeps the rows whose columns have the values of `where`.

    Attributes
    ----------
    n_given, n_kept : int
        Rows so far, and those that were kept.
    values : dict of str to set
        Column -> the texts of its values so far; None for a missing value.
    """

    def __init__(self, where: Mapping[str, Value]) -> None:
        self._texts = {name: value_text(value) for name, value in where.items()}
        self.values: dict[str, set[str | None]] = {name: set() for name in where}
        self.n_given = self.n_kept = 0

    def kept_rows(self, columns: Mapping[str, pa.Array], n_rows: int) -> NDArray[np.int64]:
        """Return the indices of the rows that are kept, from the decoded columns."""
        rows = np.arange(n_rows)
        for name, column in columns.items():
            if pa.types.is_timestamp(column.type):  # nanoseconds have no type in Python
                column = column.cast(pa.timestamp("us"), safe=False)
            encoded = column.dictionary_encode()
            texts = [*map(value_text, encoded.dictionary.to_pylist()), None]
            codes = np.asarray(encoded.indices.fill_null(len(texts) - 1))
            self.values[name].update(texts if encoded.null_count else texts[:-1])
            is_kept = np.array([each == self._texts[name] for each in texts])
            rows = rows[is_kept[codes[rows]]]
        self.n_given, self.n_kept = self.n_given + n_rows, self.n_kept + len(rows)
        return rows

    def keeps_line(self, line: str) -> bool:
        """True if a line of JSON is kept; readers report a line that is no object."""
        if not self._texts or not line.strip():
            return True
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return True
        if not isinstance(row, dict):
            return True
        texts = {name: _json_text(row.get(name)) for name in self._texts}
        for name, text in texts.items():
            self.values[name].add(text)
        is_kept = texts == self._texts
        self.n_given, self.n_kept = self.n_given + 1, self.n_kept + is_kept
        return is_kept


def _json_text(value: Any) -> str | None:
    return None if isinstance(value, list | dict) else value_text(value)
