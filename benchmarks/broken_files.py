"""Valid files in every format, and random damage of their bytes."""

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
    b",", b";", b'"', b"\n", b"\r\n", b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"nan", b"inf",
    b"-1", b"1e400", b"1e3", b"007", b" ", b"\t", b"{", b"}", b"[", b"]", b":", b"null", b"true",
    b"\\u0000", b"\\ud800", b"9223372036854775808", b"0x10", b"1_000", b"1.0", b"'", b"--",
    b"\xe2\x80\xa8", b"#", b"u1", b"item", b"rank",
)  # fmt: skip
NESTED_TRUTH = (
    b'{"user": "u1", "items": ["a", "b"], "grades": [1, 2]}\n'
    b'{"user": "u2", "items": ["c"], "grades": [0]}\n'
)


def _csv(table: pl.DataFrame) -> bytes:
    return table.write_csv().encode()


def _parquet(table: pl.DataFrame) -> bytes:
    table.write_parquet(file := io.BytesIO())
    return file.getvalue()


def _ipc(table: pl.DataFrame) -> bytes:
    table.write_ipc(file := io.BytesIO())
    return file.getvalue()


@cache
def valid_files() -> dict[tuple[str, str], bytes]:
    """Return the content of each file by table and name."""
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
        ("truth", "nested.jsonl"): NESTED_TRUTH,
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
    compressed = {
        (table, f"{name}.gz"): gzip.compress(content, mtime=0)
        for (table, name), content in files.items()
        if name.rpartition(".")[2] in {"csv", "jsonl", "run"} and table in {"lists", "truth"}
    }
    return files | compressed


FILES = tuple(valid_files())


def damaged(rng: random.Random, table: str, name: str) -> bytes:
    """Return a file's content after up to four mutations; of a compressed file mostly its text."""
    content = valid_files()[table, name]
    is_compressed = name.endswith(".gz") and rng.randrange(10) < 7  # noqa: PLR2004
    text = bytearray(gzip.decompress(content) if is_compressed else content)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        mutate(rng, text)
    return gzip.compress(bytes(text), mtime=0) if is_compressed else bytes(text)


def mutate(rng: random.Random, text: bytearray) -> None:
    """Change the text at a random position."""
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice((1, 1, 2, 5, 20)))
    match rng.randrange(7):
        case 0:
            text[start:start] = rng.choice(TOKENS)
        case 1:
            text[start:end] = rng.choice(TOKENS)
        case 2:
            del text[start:end]
        case 3:
            text[start:start] = text[start:end]
        case 4 if start < len(text):
            text[start] ^= 1 << rng.randrange(8)
        case 5:
            del text[start:]
        case _:
            lines = text.split(b"\n")
            rng.shuffle(lines)
            text[:] = b"\n".join(lines)
