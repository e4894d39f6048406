"""Rows as they stand in a table -> a row an item under our names, and where it stood."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from concord.metrics_core.reading.columns.arrow_types import HELD, bare, held, lengths
from concord.metrics_core.reading.columns.input_table import LINES, InputTable, Kind, is_of_row
from concord.metrics_core.reading.columns.numbers import as_arrow
from concord.metrics_core.reading.formats.shapes import Shape

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """What the rows of a table become; `first_rank` is that of the ranks which the order of lists tells, if it does."""

    shape: Shape
    kinds: Mapping[str, Kind]
    first_rank: int | None

    @property
    def schema(self) -> pa.Schema:
        """Our columns, and `position`: the number of the row; of lists LINES times it, and the place."""
        return pa.schema(
            {name: HELD[kind] for name, kind in self.made.items()} | {"position": pa.int64()}
        )

    @property
    def made(self) -> dict[str, Kind]:
        """The kinds of our columns."""
        return dict(self.kinds) | ({} if self.first_rank is None else {"rank": "integer"})

    def of(self, batch: pa.RecordBatch, before: int) -> pa.RecordBatch:
        """The rows of a batch, before which there were so many."""
        if self.shape.lists:
            found = _unfolded(self.shape, batch, self.kinds)
            values, position = found.columns, (found.rows + before) * LINES + found.places
        else:
            values = {
                name: held(batch.column(theirs), self.kinds[name])
                for name, theirs in self.shape.chosen.items()
            }
            position = np.arange(before, before + len(batch), dtype=np.int64)
        if self.first_rank is not None:
            values["rank"] = as_arrow(found.places + (self.first_rank - 1))
        values["position"] = as_arrow(position)
        schema = self.schema
        return pa.RecordBatch.from_arrays([values[name] for name in schema.names], schema=schema)


def rows_of(file: InputTable, shape: Shape, kinds: Mapping[str, Kind], rank_base: int) -> Rows:
    """What the rows of this table become: the place in a list is the rank, unless it says ranks itself."""
    numbered = shape.lists and "rank" in file.fields and "rank" not in kinds
    return Rows(shape, kinds, rank_base if numbered else None)


@dataclass(frozen=True)
class _Unfolded:
    """Values of ours, a row an item; `rows` and `places` say where each stood, from 0 and from 1."""

    columns: dict[str, pa.Array]
    rows: Numbers
    places: Numbers


def _unfolded(shape: Shape, batch: pa.RecordBatch, kinds: Mapping[str, Kind]) -> _Unfolded:
    """A row an item, of rows that `wrong_lists` finds nothing in."""
    each = lengths(_lists(shape, batch)["item"])
    rows = np.repeat(np.arange(len(each)), each)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(each) - each, each) + 1
    values = {name: held(inside, kinds[name]) for name, inside in _inside(shape, batch).items()}
    return _Unfolded(_of_rows(shape, batch, kinds, rows) | values, rows, places)


def _of_rows(
    shape: Shape, batch: pa.RecordBatch, kinds: Mapping[str, Kind], rows: Numbers
) -> dict[str, pa.Array]:
    """What stands once a row, for each of these rows."""
    return {
        name: held(batch.column(theirs), kinds[name]).take(as_arrow(rows))
        for name, theirs in shape.chosen.items()
        if is_of_row(name)
    }


def wrong_lists(shape: Shape, batch: pa.RecordBatch) -> Iterator[tuple[int, str]]:
    """Rows without a list, and rows whose lists differ in length."""
    if not shape.lists:
        return
    given = _lists(shape, batch)
    items = shape.within or shape.chosen["item"]
    for row in np.flatnonzero(np.asarray(given["item"].is_null())):
        yield int(row), f"has no list {items!r}"
    wanted = lengths(given["item"])
    for name, lists in given.items():
        for row in np.flatnonzero(
            (lengths(lists) != wanted) & ~np.asarray(given["item"].is_null())
        ):
            yield int(row), f"{shape.chosen[name]!r} is not as long as {items!r}"


def _lists(shape: Shape, batch: pa.RecordBatch) -> dict[str, pa.Array]:
    if shape.within:
        return {"item": batch.column(shape.within)}
    return {
        name: batch.column(theirs) for name, theirs in shape.chosen.items() if not is_of_row(name)
    }


def _inside(shape: Shape, batch: pa.RecordBatch) -> dict[str, pa.Array]:
    lists = _lists(shape, batch)
    if not shape.within:
        return {name: each.flatten() for name, each in lists.items()}
    structs = bare(lists["item"]).flatten()
    return {
        name: pc.struct_field(structs, theirs)
        for name, theirs in shape.chosen.items()
        if not is_of_row(name)
    }
