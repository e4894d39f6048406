"""Read a small table whose cells are text: a CSV file, or a frame."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from concord.metrics_core.data.argument_types import Data
from concord.metrics_core.data.frames import table_from_frame
from concord.metrics_core.errors import Problem, refuse
from concord.metrics_core.files import open_file

Row = tuple[str, Mapping[str, str]]  # location and cells


@dataclass(frozen=True)
class TextRows:
    """Rows of a table, with their locations for messages.

    Attributes
    ----------
    location : str
        The file, or the argument that holds the frame.
    names : sequence of str
        Names of the columns.
    rows : sequence of Row
        Location and cells of each row; a missing value is an empty text.
    problems : sequence of Problem
        Lines of the file with too few or too many cells, which are left out.
    numeric : frozenset of str
        Columns of a frame that hold numbers, so that the digits of a printed number are lost.
    """

    location: str
    names: Sequence[str]
    rows: Sequence[Row]
    problems: Sequence[Problem] = ()
    numeric: frozenset[str] = frozenset()


def read_text_rows(data: Data, argument: str, columns_fix: str) -> TextRows:
    """Return the rows of a frame, or of the CSV file at a path.

    Parameters
    ----------
    argument : str
        Name of the argument, for messages on a frame.
    columns_fix : str
        Which columns to write, for the message on an empty file.

    Raises
    ------
    InputError
        If the file cannot be read as CSV.
    """
    if isinstance(data, str | Path):
        return _read_csv(Path(data), columns_fix)
    table = table_from_frame(data, argument)
    rows = [
        (f"{argument}: row {number:,}", {name: _text(cell) for name, cell in row.items()})
        for number, row in enumerate(table.to_pylist(), start=1)
    ]
    numeric = frozenset(
        str(field.name)
        for field in table.schema
        if pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
    )
    return TextRows(argument, list(map(str, table.column_names)), rows, numeric=numeric)


def _read_csv(path: Path, columns_fix: str) -> TextRows:
    location = str(path)
    try:
        with open_file(path, "name a CSV file", encoding="utf-8-sig") as file:
            lines = csv.reader(file, strict=True)
            rows = [(lines.line_num, row) for row in lines if any(map(str.strip, row))]
    except FileNotFoundError:
        raise refuse(location, "there is no such file", "name a CSV file") from None
    except OSError as error:
        raise refuse(location, f"cannot be read: {error.strerror}", "name a CSV file") from None
    except UnicodeDecodeError:
        raise refuse(location, "is not UTF-8", "save the file as CSV in UTF-8") from None
    except csv.Error as error:
        raise refuse(location, f"is not valid CSV: {error}", "check its quotes") from None
    if not rows:
        raise refuse(location, "is empty", columns_fix)
    (_, header), *data_rows = rows
    names = [name.strip() for name in header]
    problems = [
        Problem(
            f"{location}: line {number:,}",
            f"has {len(row)} cells for {len(names)} columns",
            "write one cell per column; quote cells that contain a comma",
        )
        for number, row in data_rows
        if len(row) != len(names)
    ]
    cells = [
        (f"{location}: line {number:,}", dict(zip(names, map(str.strip, row), strict=True)))
        for number, row in data_rows
        if len(row) == len(names)
    ]
    return TextRows(location, names, cells, problems)


def _text(cell: Any) -> str:
    is_missing = cell is None or (isinstance(cell, float) and math.isnan(cell))
    return "" if is_missing else str(cell).strip()
