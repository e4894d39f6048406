"""The hash of a table's columns is what its definition says, in plain Python."""

import hashlib
import math
import struct
from typing import Any

import polars as pl
import pytest

from concord.metrics_core.data.hashes import hash_frame

TABLE = {
    "user": ["u2", "u10", "ü"],
    "item": [3, 20, None],
    "grade": [1.0, math.nan, None],
    "title": ["", None, "été"],
    "seen": [True, None, False],
    "categories": [["x", "yz"], [], None],
    "vector": [[1.0, 0.5], None, [2.0]],
}
CLASSES = {"grade": "number", "seen": "integer", "categories": "list", "vector": "list"}


def column_bytes(name: str, kind: str, values: list[Any], element: str = "text") -> bytes:
    """Return what is hashed of a column."""
    content = f"{name}\0{kind}\0".encode() + bytes(each is None for each in values)
    if kind == "number":
        numbers = [math.nan if each is None else each for each in values]
        return content + b"".join(struct.pack("<d", each) for each in numbers)
    if kind == "integer":
        return content + b"".join(struct.pack("<q", int(each or 0)) for each in values)
    rows = [each or "" for each in values]
    if kind == "text":
        encoded = [each.encode() for each in rows]
        lengths = b"".join(struct.pack("<q", len(each)) for each in encoded)
        return content + lengths + b"".join(encoded)
    lengths = b"".join(struct.pack("<q", len(each)) for each in rows)
    elements = [element for row in rows for element in row]
    return content + lengths + column_bytes(name, element, elements)


def test_it_is_the_hash_of_names_classes_nulls_and_values() -> None:
    expected = hashlib.sha256()
    for name in sorted(TABLE):
        values: list[Any] = TABLE[name]  # type: ignore[assignment]
        if name == "item":
            values = [None if each is None else str(each) for each in values]
        element = "number" if name == "vector" else "text"
        expected.update(column_bytes(name, CLASSES.get(name, "text"), values, element))

    assert hash_frame(pl.DataFrame(TABLE)) == expected.hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        pl.DataFrame(TABLE).select(sorted(TABLE, reverse=True)),
        pl.DataFrame(TABLE).with_columns(pl.col("item").cast(pl.Int16)),
        pl.DataFrame(TABLE).with_columns(pl.col("item").cast(pl.String)),
        pl.DataFrame(TABLE).with_columns(pl.col("title").cast(pl.Categorical)),
        pl.DataFrame(TABLE).with_columns(pl.col("grade") * -1 * -1),
    ],
)
def test_order_of_columns_and_width_of_types_do_not_count(other: pl.DataFrame) -> None:
    assert hash_frame(other) == hash_frame(pl.DataFrame(TABLE))


@pytest.mark.parametrize(
    "other",
    [
        pl.DataFrame(TABLE).reverse(),
        pl.DataFrame(TABLE).rename({"grade": "rating"}),
        pl.DataFrame(TABLE).with_columns(pl.col("grade").fill_nan(None)),
        pl.DataFrame(TABLE).with_columns(pl.col("title").fill_null("")),
        pl.DataFrame({**TABLE, "categories": [["x"], ["yz"], None]}),
    ],
)
def test_another_content_has_another_hash(other: pl.DataFrame) -> None:
    assert hash_frame(other) != hash_frame(pl.DataFrame(TABLE))
