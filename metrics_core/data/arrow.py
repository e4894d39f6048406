"""Arrow: types of columns, and numbers to and from NumPy."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from concord.metrics_core.data.input_table import Kind, role_of

is_type = pa.types
UUID = pa.binary(16)
_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
_HYPHENS = (8, 12, 16, 20)  # digits of a UUID that follow a hyphen

# The type of a column of each kind while it is read.
ARROW_TYPES: Mapping[Kind, pa.DataType] = {
    "text": pa.string(),
    "integer": pa.int64(),
    "unsigned": pa.uint64(),
    "half": pa.float32(),
    "single": pa.float32(),
    "float": pa.float64(),
}


def kind_of(name: str, kind: pa.DataType) -> Kind | None:
    """Return the kind of a decoded type in the column `name`; None if the type is not allowed."""
    if is_type.is_uint64(kind):
        return "unsigned"
    if is_type.is_integer(kind):
        return "integer"
    if is_type.is_string(kind):
        return "text"
    return _id_kind(kind) if role_of(name) == "id" else _number_kind(name, kind)


def _id_kind(kind: pa.DataType) -> Kind | None:
    if is_type.is_float16(kind):
        return "half"
    if is_type.is_float32(kind):
        return "single"
    if is_type.is_float64(kind):
        return "float"
    return "text" if kind == UUID else None


def _number_kind(name: str, kind: pa.DataType) -> Kind | None:
    if is_type.is_floating(kind):
        return "float"
    if is_type.is_decimal(kind):
        return "text"  # keeps every digit for the checks
    if is_type.is_boolean(kind) and name == "grade":
        return "integer"
    is_time = is_type.is_timestamp(kind) or is_type.is_date(kind)
    return "float" if name == "time" and is_time else None


def convert(array: pa.Array, kind: Kind) -> pa.Array:
    """Return a column in the Arrow type of its kind."""
    array = decode(array)
    if is_type.is_null(array.type):
        return pa.nulls(len(array), ARROW_TYPES[kind])
    if array.type == UUID:
        return _uuid_text(array)
    if is_type.is_timestamp(array.type) or is_type.is_date(array.type):
        return _epoch_seconds(array)
    return array.cast(ARROW_TYPES[kind])


# Text as codes and distinct texts.
ENCODED_TEXT = pa.dictionary(pa.int32(), pa.string())


def convert_encoded(array: pa.Array) -> pa.Array:
    """Return text as codes and distinct texts."""
    return array if array.type == ENCODED_TEXT else convert(array, "text").dictionary_encode()


def value_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type in which a catalogue column is stored; None if the column is not used."""
    if isinstance(kind, pa.LargeListType):
        element_type = value_type(kind.value_type)
        return None if element_type is None else pa.large_list(element_type)
    if is_type.is_float16(kind):
        return pa.float32()
    if is_type.is_decimal(kind):
        return pa.float64()
    if kind == UUID:
        return pa.string()
    stored_unchanged = (
        is_type.is_integer,
        is_type.is_floating,
        is_type.is_boolean,
        is_type.is_string,
        is_type.is_null,
        is_type.is_timestamp,
        is_type.is_date,
    )
    return kind if any(is_kind(kind) for is_kind in stored_unchanged) else None


def as_value(array: pa.Array) -> pa.Array:
    """Return a decoded array in its `value_type`."""
    return _uuid_text(array) if array.type == UUID else array.cast(value_type(array.type))


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """Return the type without its encoding, such as text for a dictionary of text."""
    if is_type.is_dictionary(kind):
        return decoded_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return decoded_type(kind.storage_type)
    if is_text(kind):
        return pa.string()
    if _is_list(kind):
        return pa.large_list(decoded_type(kind.value_type))
    return pa.timestamp(kind.unit) if is_type.is_timestamp(kind) else kind


def decode(array: pa.Array) -> pa.Array:
    """Return the array in its `decoded_type`; times are in UTC, in any time zone."""
    kind = array.type
    if is_type.is_dictionary(kind):
        return decode(array.dictionary).take(array.indices)
    if isinstance(kind, pa.BaseExtensionType):
        return decode(array.storage)
    if _is_list(kind):
        ends = np.cumsum(lengths(array))
        offsets = pa.array(np.concatenate([[0], ends]).astype(np.int64))
        values = decode(array.flatten())
        return pa.LargeListArray.from_arrays(offsets, values, mask=array.is_null())
    return array.cast(decoded_type(kind)) if is_text(kind) or is_type.is_timestamp(kind) else array


def take_rows(batch: pa.RecordBatch, rows: NDArray[Any]) -> pa.RecordBatch:
    """Return the rows with these indices; views of text become text, which Arrow can take."""
    types = pa.schema([(field.name, _without_views(field.type)) for field in batch.schema])
    return batch.cast(types).take(as_arrow(rows))


def _without_views(kind: pa.DataType) -> pa.DataType:
    if is_type.is_struct(kind):
        return pa.struct([(field.name, _without_views(field.type)) for field in kind])
    if is_type.is_list(kind):
        return pa.list_(_without_views(kind.value_type))
    if is_type.is_large_list(kind):
        return pa.large_list(_without_views(kind.value_type))
    if is_type.is_fixed_size_list(kind):
        return pa.list_(_without_views(kind.value_type), kind.list_size)
    return pa.string() if is_type.is_string_view(kind) else kind


def lengths(lists: pa.Array) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the number of values of each list; 0 for a missing list."""
    return np.asarray(pc.list_value_length(lists).fill_null(0)).astype(np.int64)


def is_list(kind: pa.DataType) -> bool:
    """True if a decoded type is a list."""
    return isinstance(kind, pa.LargeListType)


def is_text(kind: pa.DataType) -> bool:
    """True for text, of any layout."""
    return is_type.is_string(kind) or is_type.is_large_string(kind) or is_type.is_string_view(kind)


def _is_list(kind: pa.DataType) -> bool:
    kinds = (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType)
    return isinstance(kind, (*kinds, pa.LargeListViewType))


def _epoch_seconds(array: pa.Array) -> pa.Array:
    kind = array.type
    if is_type.is_date32(kind):
        return pc.multiply(array.cast(pa.int32()).cast(pa.float64()), _number(_DAY))
    unit = "ms" if is_type.is_date64(kind) else kind.unit
    number = array.cast(pa.int64()).cast(pa.float64(), safe=False)
    return pc.divide(number, _number(_SECOND[unit]))


def _number(value: int) -> pa.Scalar:
    """Return a number from its bytes: to convert one of Python, Arrow imports pandas."""
    content = pa.py_buffer(np.float64(value))
    return pa.Array.from_buffers(pa.float64(), 1, [None, content])[0]


def _uuid_text(array: pa.Array) -> pa.Array:
    """Return each sixteen bytes as text such as `0f8fad5b-d9cb-469f-a165-70867728950e`."""
    filled = array.fill_null(bytes(16))
    size = len(filled)
    content = np.frombuffer(filled.buffers()[1] or b"", dtype=np.uint8)
    digits = content[16 * filled.offset : 16 * (filled.offset + size)].tobytes().hex().encode()
    rows = np.frombuffer(digits, dtype=np.uint8).reshape(size, 32)
    characters = np.insert(rows, _HYPHENS, ord("-"), axis=1)
    offsets = pa.py_buffer(np.arange(0, 36 * (size + 1), 36, dtype=np.int32).tobytes())
    text = pa.StringArray.from_buffers(size, offsets, pa.py_buffer(characters.tobytes()))
    return pc.if_else(array.is_null(), pa.scalar(None, pa.string()), text)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; copied only if it has several chunks."""
    if not column.num_chunks:
        return pc.unique(column)  # `combine_chunks` imports pandas to make an empty array
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def positions(values: pa.Array, among: pa.Array) -> NDArray[np.int64]:
    """Return the index of each value among others of the same type; -1 if it is not there."""
    index = pc.index_in(values, value_set=among).fill_null(_NOT_THERE)
    return as_numpy(index).astype(np.int64)


def codes(encoded: pa.DictionaryArray) -> NDArray[np.int64]:
    """Return the index of each value in the distinct values; -1 for a missing value."""
    indices = encoded.indices
    known = indices.fill_null(_NOT_THERE) if indices.null_count else indices
    return as_numpy(known).astype(np.int64)


def ascending_codes(encoded: pa.DictionaryArray) -> NDArray[np.int64]:
    """Return the position of each value among the distinct values, in their order."""
    position = np.empty(len(encoded.dictionary), dtype=np.int64)
    position[as_numpy(pc.array_sort_indices(encoded.dictionary))] = np.arange(len(position))
    return position[as_numpy(encoded.indices)]


_NOT_THERE = pa.Array.from_buffers(pa.int32(), 1, [None, pa.py_buffer(np.int32(-1))])[0]


def as_arrow(numbers: NDArray[Any]) -> pa.Array:
    """Return integers as an int64 array."""
    integers = np.ascontiguousarray(numbers, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(integers), [None, pa.py_buffer(integers)])


def as_numpy(array: pa.Array) -> NDArray[Any]:
    """Return numbers or booleans without nulls as a NumPy array."""
    if pa.types.is_boolean(array.type):
        return np.from_dlpack(array.cast(pa.uint8())).view(np.bool_)
    return np.from_dlpack(array)
