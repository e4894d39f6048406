"""Cases with columns of every Arrow type in every role, and their plain values."""

import decimal
import random
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from benchmarks.fuzz_cases import Case, Row, kind

Encode = Callable[[Sequence[int | None]], pa.Array]
INDEXES = tuple(getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64))
_HALF = "float16"


def _cast(target: pa.DataType) -> Encode:
    return lambda values: pa.array(values, pa.int64()).cast(target, safe=False)


def _converted(target: pa.DataType, value: Callable[[int], Any]) -> Encode:
    return lambda values: pa.array([None if n is None else value(n) for n in values], target)


def _half(values: Sequence[int | None]) -> pa.Array:
    return pa.array([None if n is None else np.float16(n) for n in values], pa.float16())


def _union(values: Sequence[int | None]) -> pa.Array:
    numbers, texts = pa.array(values, pa.int64()), _converted(pa.string(), str)(values)
    return pa.UnionArray.from_sparse(
        pa.array([n % 2 for n in range(len(values))], pa.int8()), [numbers, texts]
    )


def _extension(kind_of: pa.DataType, storage: Encode) -> Encode:
    return lambda values: pa.ExtensionArray.from_storage(kind_of, storage(values))


_SIXTEEN = _converted(pa.binary(16), lambda n: uuid.UUID(int=n).bytes)
_DECIMAL = decimal.Decimal
NUMBERS: dict[str, Encode] = {  # types of ids and numbers
    **{str(index): _cast(index) for index in INDEXES},
    _HALF: _half,
    "float32": _cast(pa.float32()),
    "float64": _cast(pa.float64()),
    "decimal32": _converted(pa.decimal32(9, 1), _DECIMAL),
    "decimal64": _converted(pa.decimal64(18, 0), _DECIMAL),
    "decimal128": _converted(pa.decimal128(38, 10), _DECIMAL),
    "decimal256": _converted(pa.decimal256(70, 30), _DECIMAL),
    "string": _converted(pa.string(), str),
    "large_string": _converted(pa.large_string(), str),
    "string_view": _converted(pa.string_view(), str),
    "json": _extension(pa.json_(), _converted(pa.string(), str)),
}
OTHERS: dict[str, Encode] = {
    "null": lambda values: pa.nulls(len(values)),
    "bool": _converted(pa.bool_(), lambda n: n % 2 == 1),
    "bool8": _extension(pa.bool8(), _converted(pa.int8(), lambda n: n % 2)),
    "binary": _converted(pa.binary(), lambda n: b"\xff" * (n % 3)),
    "large_binary": _converted(pa.large_binary(), lambda n: b"\xff" * (n % 3)),
    "binary_view": _converted(pa.binary_view(), lambda n: b"\xff" * (n % 3)),
    "fixed": _converted(pa.binary(3), lambda _: b"abc"),
    "sixteen": _SIXTEEN,
    "uuid": _extension(pa.uuid(), _SIXTEEN),
    "opaque": _extension(pa.opaque(pa.int64(), "x", "y"), _cast(pa.int64())),
    "date32": lambda values: pa.array(values, pa.int32()).cast(pa.date32()),
    "date64": _converted(pa.date64(), lambda n: 86_400_000 * n),
    "time32": _converted(pa.time32("s"), int),
    "time64": _converted(pa.time64("ns"), int),
    "interval": _converted(pa.month_day_nano_interval(), lambda n: (n, n, n)),
    **{f"timestamp_{unit}": _cast(pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    "timestamp_zone": _cast(pa.timestamp("us", "Europe/Berlin")),
    **{f"duration_{unit}": _cast(pa.duration(unit)) for unit in ("s", "ns")},
    "list": _converted(pa.list_(pa.int32()), lambda n: [n] * (n % 3)),
    "large_list": _converted(pa.large_list(pa.string()), lambda n: [str(n)] * (n % 3)),
    "fixed_list": _converted(pa.list_(pa.float32(), 2), lambda n: [n, 1]),
    "half_list": _converted(pa.list_(pa.float16()), lambda n: [np.float16(n), np.float16(1)]),
    "binary_list": _converted(pa.list_(pa.binary()), lambda _: [b"\xff"]),
    "nested_list": _converted(pa.list_(pa.list_(pa.int8())), lambda n: [[n]]),
    "tensor": _extension(
        pa.fixed_shape_tensor(pa.float32(), [2]),
        _converted(pa.list_(pa.float32(), 2), lambda n: [n, 1]),
    ),
    "struct": _converted(pa.struct({"a": pa.int64()}), lambda n: {"a": n}),
    "empty_struct": _converted(pa.struct([]), lambda _: {}),
    "map": _converted(pa.map_(pa.string(), pa.int64()), lambda n: [("a", n)]),
    "union": _union,
}  # fmt: skip
ENCODERS = {**NUMBERS, **OTHERS}


def array(rng: random.Random, name: str, values: Sequence[int | None]) -> pa.Array:
    """Return the values in this type, sometimes as a dictionary or as a slice of an array."""
    sliced = rng.randrange(3) == 0 and name != "union"
    encoded = ENCODERS[name]([0, *values])[1:] if sliced else ENCODERS[name](values)
    if isinstance(encoded.type, pa.BaseExtensionType):
        return encoded  # pyarrow does not read dictionaries of these
    if rng.randrange(6) > 0:
        return encoded
    try:
        indices = pa.array(range(len(encoded)), rng.choice(INDEXES))
        return pa.DictionaryArray.from_arrays(indices, encoded)
    except (pa.ArrowException, TypeError):
        return encoded  # pyarrow has no dictionaries of this type


def write(rng: random.Random, table: pa.Table) -> str:
    """Write the table as parquet or Arrow; return the name of the file."""
    form = rng.choice(("parquet", "file", "stream"))
    if form == "parquet":
        try:
            pq.write_table(table, "odd.parquet", store_schema=rng.random() < 0.8)  # noqa: PLR2004
        except (pa.ArrowException, OSError, ValueError):
            pass
        else:
            return "odd.parquet"
    new = pyarrow.ipc.new_stream if form == "stream" else pyarrow.ipc.new_file
    options = pyarrow.ipc.IpcWriteOptions(compression=rng.choice((None, "lz4", "zstd")))
    with pa.OSFile("odd.arrow", "wb") as file, new(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=2)
    return "odd.arrow"


ROLES = {
    "lists": ("user", "item", "rank", "score"),
    "truth": ("user", "item", "grade"),
    "train": ("user", "item"),
    "items": ("item", "title", "categories", "vector"),
    "users": ("user",),
}


@kind
def types(rng: random.Random) -> Case:
    """Return a table with one column, required or not, of any type."""
    table_kind = rng.choice(tuple(ROLES))
    role = rng.choice((*ROLES[table_kind], "other"))
    name = rng.choice(tuple(ENCODERS))
    users, items = [0, 0, 1, 2], [3, 4, 4, 3] if table_kind != "items" else [3, 4, 5, 6]
    users = [0, 1, 2, 3] if table_kind == "users" else users
    plain = {
        "user": users,
        "item": items,
        "rank": [1, 2, 1, 1],
        "score": [2, 1, 1, 1],
        "grade": [0, 1, 2, 3],
    }
    columns = {
        column: pa.array(plain[column])
        for column in ROLES[table_kind]
        if column in plain and column != role
    }
    if table_kind == "lists" and role != "rank" and rng.random() < 0.5:  # noqa: PLR2004
        columns.pop(rng.choice(("rank", "score")), None)
    values = plain.get(role, [1, 2, 3, 4])
    with_nulls = [None if rng.random() < 0.2 else n for n in values]  # noqa: PLR2004
    columns[role] = array(
        rng, name, with_nulls if role in ("other", "title", "categories", "vector") else values
    )
    path = write(rng, pa.table(columns))
    rows = [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)]
    expected = _expected(rows, role, name, columns)
    # Arrow does not read fixed sizes with missing values from parquet.
    is_unreadable = (
        path == "odd.parquet" and name in ("fixed_list", "tensor") and None in with_nulls
    )
    return Case(
        table_kind,
        path,
        expected,
        allowed="" if role == "other" and not is_unreadable else "refused",
    )


def _expected(
    rows: list[Row], role: str, name: str, columns: dict[str, pa.Array]
) -> list[Row] | None:
    """Return the expected rows; None if only refusing or reading as such is checked."""
    if name in {"sixteen", "uuid"} and role in {"user", "item"}:
        rows = [{**row, role: str(uuid.UUID(int=row[role]))} for row in rows]
    elif name in {"bool", "bool8"} and role == "grade":
        rows = [{**row, role: row[role] % 2} for row in rows]
    elif name not in NUMBERS and name != "opaque" and role != "other":
        return None
    return [{key: row[key] for key in row if key in columns} for row in rows]
