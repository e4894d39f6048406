"""Tables with columns of every Arrow type in every role, and what they hold in plain values."""

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


def _made(target: pa.DataType, value: Callable[[int], Any]) -> Encode:
    return lambda values: pa.array([None if n is None else value(n) for n in values], target)


def _half(values: Sequence[int | None]) -> pa.Array:
    return pa.array([None if n is None else np.float16(n) for n in values], pa.float16())


def _union(values: Sequence[int | None]) -> pa.Array:
    numbers, texts = pa.array(values, pa.int64()), _made(pa.string(), str)(values)
    return pa.UnionArray.from_sparse(
        pa.array([n % 2 for n in range(len(values))], pa.int8()), [numbers, texts]
    )


def _extension(kind_of: pa.DataType, storage: Encode) -> Encode:
    return lambda values: pa.ExtensionArray.from_storage(kind_of, storage(values))


_SIXTEEN = _made(pa.binary(16), lambda n: uuid.UUID(int=n).bytes)
_DECIMAL = decimal.Decimal
NUMBERS: dict[str, Encode] = {  # what may be an id or a number
    **{str(index): _cast(index) for index in INDEXES},
    _HALF: _half,
    "float32": _cast(pa.float32()),
    "float64": _cast(pa.float64()),
    "decimal32": _made(pa.decimal32(9, 1), _DECIMAL),
    "decimal64": _made(pa.decimal64(18, 0), _DECIMAL),
    "decimal128": _made(pa.decimal128(38, 10), _DECIMAL),
    "decimal256": _made(pa.decimal256(70, 30), _DECIMAL),
    "string": _made(pa.string(), str),
    "large_string": _made(pa.large_string(), str),
    "string_view": _made(pa.string_view(), str),
    "json": _extension(pa.json_(), _made(pa.string(), str)),
}
OTHERS: dict[str, Encode] = {
    "null": lambda values: pa.nulls(len(values)),
    "bool": _made(pa.bool_(), lambda n: n % 2 == 1),
    "bool8": _extension(pa.bool8(), _made(pa.int8(), lambda n: n % 2)),
    "binary": _made(pa.binary(), lambda n: b"\xff" * (n % 3)),
    "large_binary": _made(pa.large_binary(), lambda n: b"\xff" * (n % 3)),
    "binary_view": _made(pa.binary_view(), lambda n: b"\xff" * (n % 3)),
    "fixed": _made(pa.binary(3), lambda _: b"abc"),
    "sixteen": _SIXTEEN,
    "uuid": _extension(pa.uuid(), _SIXTEEN),
    "opaque": _extension(pa.opaque(pa.int64(), "x", "y"), _cast(pa.int64())),
    "date32": lambda values: pa.array(values, pa.int32()).cast(pa.date32()),
    "date64": _made(pa.date64(), lambda n: 86_400_000 * n),
    "time32": _made(pa.time32("s"), int),
    "time64": _made(pa.time64("ns"), int),
    "interval": _made(pa.month_day_nano_interval(), lambda n: (n, n, n)),
    **{f"timestamp_{unit}": _cast(pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    "timestamp_zone": _cast(pa.timestamp("us", "Europe/Berlin")),
    **{f"duration_{unit}": _cast(pa.duration(unit)) for unit in ("s", "ns")},
    "list": _made(pa.list_(pa.int32()), lambda n: [n] * (n % 3)),
    "large_list": _made(pa.large_list(pa.string()), lambda n: [str(n)] * (n % 3)),
    "fixed_list": _made(pa.list_(pa.float32(), 2), lambda n: [n, 1]),
    "half_list": _made(pa.list_(pa.float16()), lambda n: [np.float16(n), np.float16(1)]),
    "binary_list": _made(pa.list_(pa.binary()), lambda _: [b"\xff"]),
    "nested_list": _made(pa.list_(pa.list_(pa.int8())), lambda n: [[n]]),
    "tensor": lambda values: pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.float32(), [2]), _made(pa.list_(pa.float32(), 2), lambda n: [n, 1])(values)),
    "struct": _made(pa.struct({"a": pa.int64()}), lambda n: {"a": n}),
    "empty_struct": _made(pa.struct([]), lambda _: {}),
    "map": _made(pa.map_(pa.string(), pa.int64()), lambda n: [("a", n)]),
    "union": _union,
}  # fmt: skip
ALL = {**NUMBERS, **OTHERS}


def array(chance: random.Random, name: str, values: Sequence[int | None]) -> pa.Array:
    """The values in this type; now and then as a dictionary, or as a slice of a longer array."""
    sliced = chance.randrange(3) == 0 and name != "union"
    made = ALL[name]([0, *values])[1:] if sliced else ALL[name](values)
    if isinstance(made.type, pa.BaseExtensionType):
        return made  # pyarrow does not read dictionaries of these
    if chance.randrange(6) > 0:
        return made
    try:
        places = pa.array(range(len(made)), chance.choice(INDEXES))
        return pa.DictionaryArray.from_arrays(places, made)
    except (pa.ArrowException, TypeError):
        return made  # not of this type


def write(chance: random.Random, table: pa.Table) -> str:
    """The table as parquet, or as Arrow where parquet does not know a type; the name of the file."""
    form = chance.choice(("parquet", "file", "stream"))
    if form == "parquet":
        try:
            pq.write_table(table, "odd.parquet", store_schema=chance.random() < 0.8)  # noqa: PLR2004
        except (pa.ArrowException, OSError, ValueError):
            pass
        else:
            return "odd.parquet"
    new = pyarrow.ipc.new_stream if form == "stream" else pyarrow.ipc.new_file
    packed = pyarrow.ipc.IpcWriteOptions(compression=chance.choice((None, "lz4", "zstd")))
    with pa.OSFile("odd.arrow", "wb") as file, new(file, table.schema, options=packed) as writer:
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
def types(chance: random.Random) -> Case:
    """A table with one column, needed or not, of any type."""
    what = chance.choice(tuple(ROLES))
    role = chance.choice((*ROLES[what], "other"))
    name = chance.choice(tuple(ALL))
    users, items = [0, 0, 1, 2], [3, 4, 4, 3] if what != "items" else [3, 4, 5, 6]
    users = [0, 1, 2, 3] if what == "users" else users
    plain = {
        "user": users,
        "item": items,
        "rank": [1, 2, 1, 1],
        "score": [2, 1, 1, 1],
        "grade": [0, 1, 2, 3],
    }
    columns = {
        column: pa.array(plain[column])
        for column in ROLES[what]
        if column in plain and column != role
    }
    if what == "lists" and role != "rank" and chance.random() < 0.5:  # noqa: PLR2004
        columns.pop(chance.choice(("rank", "score")), None)
    own = plain.get(role, [1, 2, 3, 4])
    holey = [None if chance.random() < 0.2 else n for n in own]  # noqa: PLR2004
    columns[role] = array(
        chance, name, holey if role in ("other", "title", "categories", "vector") else own
    )
    path = write(chance, pa.table(columns))
    rows = [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)]
    expected = _expected(rows, role, name, columns)
    # Arrow does not read fixed sizes from parquet where values are missing.
    unread = path == "odd.parquet" and name in ("fixed_list", "tensor") and None in holey
    return Case(what, path, expected, may="" if role == "other" and not unread else "refused")


def _expected(
    rows: list[Row], role: str, name: str, columns: dict[str, pa.Array]
) -> list[Row] | None:
    """The rows as they are to be read, if they are read; None where only `refused` or reading as such is looked at."""
    if name in {"sixteen", "uuid"} and role in {"user", "item"}:
        rows = [{**row, role: str(uuid.UUID(int=row[role]))} for row in rows]
    elif name in {"bool", "bool8"} and role == "grade":
        rows = [{**row, role: row[role] % 2} for row in rows]
    elif name not in NUMBERS and name != "opaque" and role != "other":
        return None
    return [{key: row[key] for key in row if key in columns} for row in rows]
