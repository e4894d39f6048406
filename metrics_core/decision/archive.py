"""The zip of a decision: entries without compression, with the same bytes on any machine."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np
import polars as pl

from concord.metrics_core.errors import refuse

Columns = Iterable[tuple[Any, pl.Series]]  # key as in JSON, and values
WRITE_AGAIN = "write it again with `Comparison.save` or `concord run`"
_MODE = 0o644 << 16  # of a file that its owner may write and all may read
_NULL = np.uint64(0x7FF80000000007A2)  # a NaN that marks a value that is left out


@dataclass(frozen=True)
class Matrix:
    """A table of numbers in the zip: keys of its columns, number of rows, name of the entry."""

    file: str
    rows: int
    columns: list[Any]


@dataclass(frozen=True)
class DecisionWriter:
    """Writes the entries of a decision into a zip."""

    archive: ZipFile

    def add_text(self, name: str, text: str) -> None:
        """Add an entry of text."""
        self._add(name, [text.encode()])

    def add_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Add an entry of JSON."""
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        self.add_text(name, f"{text}\n")

    def add_matrix(self, name: str, rows: int, columns: Columns) -> Matrix:
        """Add an entry of numbers: float64, little-endian, one column after another."""
        keys: list[Any] = []

        def blocks() -> Iterable[bytes]:
            for key, values in columns:
                keys.append(key)
                yield _encode(values)

        self._add(f"{name}.f64", blocks())
        return Matrix(f"{name}.f64", rows, keys)

    def _add(self, name: str, blocks: Iterable[bytes]) -> None:
        entry = ZipInfo(name)  # its time is 1 January 1980
        entry.external_attr, entry.create_system = _MODE, 3  # of Unix, on any system
        with self.archive.open(entry, "w", force_zip64=True) as file:
            for block in blocks:
                file.write(block)


@dataclass(frozen=True)
class DecisionArchive:
    """Entries of the zip of a decision."""

    path: Path

    def read(self, name: str) -> bytes:
        """Return an entry.

        Raises
        ------
        InputError
            The file does not exist, is damaged, or is not a decision.
        """
        try:
            with ZipFile(self.path) as archive:
                return archive.read(name)
        except FileNotFoundError:
            raise refuse(str(self.path), "there is no such file", "correct its name") from None
        except KeyError:
            problem = f"is not a decision: it has no entry {name}"
        except (BadZipFile, OSError, EOFError, NotImplementedError) as error:
            problem = f"is damaged, or not a decision: {error}"
        raise refuse(str(self.path), problem, WRITE_AGAIN)

    def read_json(self, name: str) -> dict[str, Any]:
        """Return an entry of JSON; raises as `read`."""
        try:
            content: dict[str, Any] = json.loads(self.read(name))
        except ValueError as error:
            raise refuse(str(self.path), f"is damaged: {name}: {error}", WRITE_AGAIN) from None
        return content

    def read_matrix(self, matrix: Mapping[str, Any]) -> list[tuple[Any, pl.Series]]:
        """Return the columns of an entry of numbers; raises as `read`."""
        content, keys = self.read(matrix["file"]), matrix["columns"]
        if len(content) != 8 * matrix["rows"] * len(keys):
            problem = f"is damaged: {matrix['file']} has {len(content):,} bytes"
            raise refuse(str(self.path), problem, WRITE_AGAIN)
        numbers = np.frombuffer(content, "<f8").reshape(len(keys), matrix["rows"])
        return [(key, _decode(row)) for key, row in zip(keys, numbers, strict=True)]


def _encode(values: pl.Series) -> bytes:
    numbers = values.cast(pl.Float64).fill_null(0.0).to_numpy()
    numbers = np.where(np.isnan(numbers), np.nan, numbers)  # one bit pattern
    bits = np.where(values.is_null().to_numpy(), _NULL, numbers.view(np.uint64))
    return bits.astype("<u8").tobytes()


def _decode(numbers: np.ndarray[Any, Any]) -> pl.Series:
    is_null = pl.Series(numbers.view("<u8") == _NULL)
    values = pl.Series(numbers.astype(np.float64))
    return values.zip_with(~is_null, pl.Series([None], dtype=pl.Float64))
