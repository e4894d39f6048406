"""Sound files in every form, and what chance does to their bytes."""

import gzip
import io
import random
from functools import cache

import polars as pl

from tests.pipeline.stages.load_project import TEXT_FORMS, frame

ROWS = [
    ("u1", "a", 1, 2.5),
    ("u1", "b", 2, 1.5),
    ("u2", "caf\u00e9", 1, -1.0),
    ("u2", "a", 2, -2.0),
    ("10", "007", 1, 0.5),
]
JUDGED = pl.DataFrame(
    {"user": ["u1", "u1", "u2"], "item": ["a", "b", "x,y"], "grade": [1.0, 0.0, 3.0]}
)
NUMBERED = pl.DataFrame({"user": [1, 1, 2], "item": [10, 20, 10], "score": [0.5, 0.25, 0.125]})
ITEMS = pl.DataFrame(
    {"item": ["a", "b", "c"], "categories": [["x", "y"], [], ["x"]], "title": ["A", 'say "b"', ""]}
)
USERS = pl.DataFrame({"user": ["u1", "u2"], "plan": ["free", "paid"], "age": [20, 30]})
TOKENS = (
    b",", b";", b'"', b"\n", b"\r\n", b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"nan", b"inf", b"-1", b"1e400", b"1e3",
    b"007", b" ", b"\t", b"{", b"}", b"[", b"]", b":", b"null", b"true", b"\\u0000", b"\\ud800", b"9223372036854775808",
    b"0x10", b"1_000", b"1.0", b"'", b"--", b"\xe2\x80\xa8", b"#", b"u1", b"item", b"rank",
)  # fmt: skip


def _csv(table: pl.DataFrame) -> bytes:
    return table.write_csv().encode()


def _parquet(table: pl.DataFrame) -> bytes:
    table.write_parquet(into := io.BytesIO())
    return into.getvalue()


def _ipc(table: pl.DataFrame) -> bytes:
    table.write_ipc(into := io.BytesIO())
    return into.getvalue()


@cache
def sound() -> dict[tuple[str, str], bytes]:
    """(what it is, name of the file) -> content."""
    joined = ITEMS.with_columns(pl.col("categories").list.join("|"))
    files = {("lists", name): form(ROWS).encode() for name, form in TEXT_FORMS.items()}
    files |= {
        ("lists", "scores.csv"): _csv(frame(ROWS).drop("rank")),
        ("lists", "lists.parquet"): _parquet(frame(ROWS)),
        ("lists", "numbers.parquet"): _parquet(NUMBERED),
        ("lists", "lists.arrow"): _ipc(frame(ROWS)),
        ("truth", "truth.csv"): _csv(JUDGED),
        ("truth", "truth.qrels"): b"u1 0 a 1\nu1 0 b 0\nu2 0 a 2\n",
        ("truth", "truth.jsonl"): JUDGED.write_ndjson().encode(),
        ("truth", "nested.jsonl"): b'{"user": "u1", "items": ["a", "b"], "grades": [1, 2]}\n{"user": "u2", "items": ["c"], "grades": [0]}\n',
        ("truth", "truth.parquet"): _parquet(JUDGED),
        ("train", "train.csv"): _csv(JUDGED.drop("grade")),
        ("train", "train.parquet"): _parquet(JUDGED.drop("grade")),
        ("items", "items.csv"): _csv(joined),
        ("items", "items.jsonl"): ITEMS.write_ndjson().encode(),
        ("items", "items.parquet"): _parquet(ITEMS),
        ("users", "users.csv"): _csv(USERS),
        ("users", "users.jsonl"): USERS.write_ndjson().encode(),
        ("users", "users.parquet"): _parquet(USERS),
    }  # fmt: skip
    packed = {
        (what, f"{name}.gz"): gzip.compress(content, mtime=0)
        for (what, name), content in files.items()
        if name.rpartition(".")[2] in {"csv", "jsonl", "run"} and what in {"lists", "truth"}
    }
    return files | packed


FILES = tuple(sound())


def broken(chance: random.Random, what: str, name: str) -> bytes:
    """The content of a file after one to four strokes; of a packed one mostly the text inside."""
    content = sound()[what, name]
    packed = name.endswith(".gz") and chance.randrange(10) < 7  # noqa: PLR2004
    text = bytearray(gzip.decompress(content) if packed else content)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 4))):
        stroke(chance, text)
    return gzip.compress(bytes(text), mtime=0) if packed else bytes(text)


def stroke(chance: random.Random, text: bytearray) -> None:
    at = chance.randrange(len(text) + 1)
    to = min(len(text), at + chance.choice((1, 1, 2, 5, 20)))
    match chance.randrange(7):
        case 0:
            text[at:at] = chance.choice(TOKENS)
        case 1:
            text[at:to] = chance.choice(TOKENS)
        case 2:
            del text[at:to]
        case 3:
            text[at:at] = text[at:to]
        case 4 if at < len(text):
            text[at] ^= 1 << chance.randrange(8)
        case 5:
            del text[at:]
        case _:
            lines = text.split(b"\n")
            chance.shuffle(lines)
            text[:] = b"\n".join(lines)
