"""Folders of parts and Arrow files as they come about: nested, partitioned, cut, joined, mixed, folded."""

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
    return pa.Table.from_pylist(rows, schema=pa.schema({
        "user": pa.int64(), "item": pa.string(), "rank": pa.int64(), "score": pa.float64()}))  # fmt: skip


@kind
def folders(chance: random.Random) -> Case:
    """Parts in folders of any depth, whole or with one thing wrong."""
    folder = Path("parts")
    rows = [dict(row) for row in LISTS]
    hive = chance.randrange(3) == 0
    places = []
    for user in range(4):
        own = [row for row in rows if row["user"] == user]
        under = folder.joinpath(*chance.choices(("a", "b=1", "c d", "2026"), k=chance.randrange(3)))
        under = under / f"user={user}" if hive else under
        under.mkdir(parents=True, exist_ok=True)
        table = _table(own).drop_columns("user") if hive else _table(own)
        for number, piece in enumerate(_cut(chance, _varied(chance, table))):
            places.append(under / f"part-{user}-{number}.parquet")
            pq.write_table(piece, places[-1])
    for name in ("_SUCCESS", ".part.crc", "_temporary"):
        if chance.random() < 0.3:  # noqa: PLR2004
            chance.choice([folder, *(path.parent for path in places)]).joinpath(name).touch()
    wrong = chance.choice((None, None, *_WRONG))
    if wrong is None:
        return Case("lists", "parts", rows, may="")
    _WRONG[wrong](chance.choice(places), folder)
    return Case("lists", "parts", None, may="only refused")


def _cut(chance: random.Random, table: pa.Table) -> list[pa.Table]:
    at = chance.randrange(len(table) + 1)
    return chance.choice(([table], [table[:at], table[at:]]))


def _varied(chance: random.Random, table: pa.Table) -> pa.Table:
    """The same values in other types of their kind, and in another order of columns."""
    types = {"user": (pa.int32(), pa.int64(), pa.uint8()), "item": (pa.string(), pa.large_string(), pa.string_view()),
             "rank": (pa.int8(), pa.int64()), "score": (pa.float32(), pa.float64(), pa.float16())}  # fmt: skip
    names = table.column_names
    chance.shuffle(names)
    return pa.table({name: table[name].cast(chance.choice(types[name])) for name in names})


def _rename(path: Path, folder: Path) -> None:
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.rename_columns([f"{name}_" for name in table.column_names]), path)


def _as_text(path: Path, folder: Path) -> None:
    table = pq.read_table(path, partitioning=None)
    pq.write_table(
        table.set_column(0, table.column_names[0], pa.array([b"x"] * len(table), pa.binary())), path
    )


_WRONG: dict[str, Callable[[Path, Path], object]] = {
    "cut": lambda path, _: os.truncate(path, path.stat().st_size // 2),
    "empty": lambda path, _: os.truncate(path, 0),
    "joined": lambda path, _: path.write_bytes(path.read_bytes() * 2),
    "no part": lambda path, _: path.with_suffix(".csv").write_text("user,item,rank\n"),
    "renamed": _rename,
    "another type": _as_text,
    "a pipe": lambda path, _: os.mkfifo(path.with_name("p.parquet")),
    "a link to nothing": lambda path, _: path.with_name("p.parquet").symlink_to("nothing"),
    "a linked folder": lambda path, folder: folder.joinpath("linked").symlink_to(path.parent.resolve()),
    "delta": lambda _, folder: folder.joinpath("_delta_log").mkdir(),
    "again": lambda path, folder: folder.joinpath("z.parquet").write_bytes(_one_part()),
}  # fmt: skip


def _one_part() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(_table(LISTS[:1]), sink)
    return bytes(sink.getvalue())


@kind
def streams(chance: random.Random) -> Case:
    """Arrow and parquet files: whole, cut, joined, with something behind, with a hole."""
    form = chance.choice(("file", "stream", "parquet"))
    content = _content(chance, form)
    path = "odd.parquet" if form == "parquet" else "odd.arrow"
    at = chance.randrange(1, len(content))
    other = _content(chance, chance.choice((form, "stream")))
    changed = {
        "whole": content,
        "cut": content[:at],
        "joined": content + other,
        "inside": content[:at] + other + content[at:],
        "behind": content + bytes(chance.choices(range(256), k=chance.randrange(1, 40))),
        "padded": content + bytes(chance.choice((1, 4, 8, 16, 64))),
        "hole": content[:at] + content[at + chance.randrange(1, 64) :],
        "in itself": content + content[at:],
    }
    how = chance.choice(tuple(changed))
    Path(path).write_bytes(changed[how])
    return Case("lists", path, LISTS, may="" if changed[how] == content else "refused")


def _content(chance: random.Random, form: str) -> bytes:
    table = _varied(chance, _table(LISTS))
    sink = pa.BufferOutputStream()
    if form == "parquet":
        types = [pa.string() if kind == pa.string_view() else kind for kind in table.schema.types]
        pq.write_table(table.cast(pa.schema(list(zip(table.column_names, types, strict=True)))), sink,
                       row_group_size=chance.choice((3, 100)))  # fmt: skip
        return bytes(sink.getvalue())
    new = pyarrow.ipc.new_stream if form == "stream" else pyarrow.ipc.new_file
    packed = pyarrow.ipc.IpcWriteOptions(compression=chance.choice((None, "zstd")))
    with new(sink, table.schema, options=packed) as writer:
        writer.write_table(table, max_chunksize=chance.choice((3, 100)))
    return bytes(sink.getvalue())


@kind
def shapes(chance: random.Random) -> Case:
    """The same lists in rows, in lists, and in lists of structs."""
    users = sorted({row["user"] for row in LISTS})
    own = {user: [row for row in LISTS if row["user"] == user] for user in users}
    form = chance.choice(("lists", "structs"))
    names = chance.sample(("score", "rank"), k=chance.randrange(3))
    if form == "lists":
        table = pa.table({"user": users, "items": [[row["item"] for row in own[u]] for u in users]}
                         | {f"{name}s": [[row[name] for row in own[u]] for u in users] for name in names})  # fmt: skip
    else:
        table = pa.table({"user": users, "recommendations": [
            [{name: row[name] for name in ("item", *names)} for row in own[u]] for u in users]})  # fmt: skip
    pq.write_table(table, "odd.parquet")
    return Case("lists", "odd.parquet", LISTS, may="")
