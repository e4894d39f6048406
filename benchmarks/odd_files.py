"""Cases with unusual layouts: nested and partitioned folders, damaged files, nested columns."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from benchmarks.fuzz_cases import Case, Row, kind

LISTS: list[Row] = [
    {"user": user, "item": f"i{item}", "rank": rank, "score": 9.5 - rank}
    for user in range(4)
    for rank, item in enumerate(range(user, 2 * user + 1), start=1)
]


def _table(rows: list[Row]) -> pa.Table:
    types = {"user": pa.int64(), "item": pa.string(), "rank": pa.int64(), "score": pa.float64()}
    return pa.Table.from_pylist(rows, schema=pa.schema(types))


@kind
def folders(rng: random.Random) -> Case:
    """Return a folder of part files at any depth, valid or with one defect."""
    folder = Path("parts")
    rows = [dict(row) for row in LISTS]
    hive = rng.randrange(3) == 0
    paths = []
    for user in range(4):
        user_rows = [row for row in rows if row["user"] == user]
        under = folder.joinpath(*rng.choices(("a", "b=1", "c d", "2026"), k=rng.randrange(3)))
        under = under / f"user={user}" if hive else under
        under.mkdir(parents=True, exist_ok=True)
        table = _table(user_rows).drop_columns("user") if hive else _table(user_rows)
        for number, piece in enumerate(_cut(rng, _varied(rng, table))):
            paths.append(under / f"part-{user}-{number}.parquet")
            pq.write_table(piece, paths[-1])
    for name in ("_SUCCESS", ".part.crc", "_temporary"):
        if rng.random() < 0.3:  # noqa: PLR2004
            rng.choice([folder, *(path.parent for path in paths)]).joinpath(name).touch()
    defect = rng.choice((None, None, *_DEFECTS))
    if defect is None:
        return Case("lists", "parts", rows, allowed="")
    _DEFECTS[defect](rng.choice(paths), folder)
    return Case("lists", "parts", None, allowed="only refused")


def _cut(rng: random.Random, table: pa.Table) -> list[pa.Table]:
    at = rng.randrange(len(table) + 1)
    return rng.choice(([table], [table[:at], table[at:]]))


def _varied(rng: random.Random, table: pa.Table) -> pa.Table:
    """Return the same values with other types, and columns in another order."""
    types = {
        "user": (pa.int32(), pa.int64(), pa.uint8()),
        "item": (pa.string(), pa.large_string(), pa.string_view()),
        "rank": (pa.int8(), pa.int64()),
        "score": (pa.float32(), pa.float64(), pa.float16()),
    }
    names = table.column_names
    rng.shuffle(names)
    return pa.table({name: table[name].cast(rng.choice(types[name])) for name in names})


def _rename(path: Path, folder: Path) -> None:
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.rename_columns([f"{name}_" for name in table.column_names]), path)


def _as_text(path: Path, folder: Path) -> None:
    table = pq.read_table(path, partitioning=None)
    pq.write_table(
        table.set_column(0, table.column_names[0], pa.array([b"x"] * len(table), pa.binary())), path
    )


_DEFECTS: dict[str, Callable[[Path, Path], object]] = {
    "cut": lambda path, _: os.truncate(path, path.stat().st_size // 2),
    "empty": lambda path, _: os.truncate(path, 0),
    "joined": lambda path, _: path.write_bytes(path.read_bytes() * 2),
    "no part": lambda path, _: path.with_suffix(".csv").write_text("user,item,rank\n"),
    "renamed": _rename,
    "another type": _as_text,
    "a pipe": lambda path, _: os.mkfifo(path.with_name("p.parquet")),
    "a link to nothing": lambda path, _: path.with_name("p.parquet").symlink_to("nothing"),
    "a linked folder": lambda path, folder: (folder / "linked").symlink_to(path.parent.resolve()),
    "delta": lambda _, folder: folder.joinpath("_delta_log").mkdir(),
    "again": lambda path, folder: folder.joinpath("z.parquet").write_bytes(_one_part()),
}


def _one_part() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(_table(LISTS[:1]), sink)
    return bytes(sink.getvalue())


@kind
def streams(rng: random.Random) -> Case:
    """Return an Arrow or parquet file, valid or damaged."""
    form = rng.choice(("file", "stream", "parquet"))
    content = _content(rng, form)
    path = "odd.parquet" if form == "parquet" else "odd.arrow"
    at = rng.randrange(1, len(content))
    other = _content(rng, rng.choice((form, "stream")))
    changed = {
        "whole": content,
        "cut": content[:at],
        "joined": content + other,
        "inside": content[:at] + other + content[at:],
        "behind": content + bytes(rng.choices(range(256), k=rng.randrange(1, 40))),
        "padded": content + bytes(rng.choice((1, 4, 8, 16, 64))),
        "hole": content[:at] + content[at + rng.randrange(1, 64) :],
        "in itself": content + content[at:],
    }
    change = rng.choice(tuple(changed))
    Path(path).write_bytes(changed[change])
    return Case("lists", path, LISTS, allowed="" if changed[change] == content else "refused")


def _content(rng: random.Random, form: str) -> bytes:
    table = _varied(rng, _table(LISTS))
    sink = pa.BufferOutputStream()
    if form == "parquet":
        types = [pa.string() if kind == pa.string_view() else kind for kind in table.schema.types]
        schema = pa.schema(list(zip(table.column_names, types, strict=True)))
        pq.write_table(table.cast(schema), sink, row_group_size=rng.choice((3, 100)))
        return bytes(sink.getvalue())
    new = pyarrow.ipc.new_stream if form == "stream" else pyarrow.ipc.new_file
    options = pyarrow.ipc.IpcWriteOptions(compression=rng.choice((None, "zstd")))
    with new(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rng.choice((3, 100)))
    return bytes(sink.getvalue())


@kind
def shapes(rng: random.Random) -> Case:
    """Return the lists as columns of lists or of structs."""
    users = sorted({row["user"] for row in LISTS})
    lists = [[row for row in LISTS if row["user"] == user] for user in users]
    form = rng.choice(("lists", "structs"))
    names = rng.sample(("score", "rank"), k=rng.randrange(3))
    if form == "lists":
        columns = {f"{name}s": [[row[name] for row in rows] for rows in lists] for name in names}
        items = [[row["item"] for row in rows] for rows in lists]
        table = pa.table({"user": users, "items": items, **columns})
    else:
        structs = [
            [{name: row[name] for name in ("item", *names)} for row in rows] for rows in lists
        ]
        table = pa.table({"user": users, "recommendations": structs})
    pq.write_table(table, "odd.parquet")
    return Case("lists", "odd.parquet", LISTS, allowed="")
