"""What a table is: by its columns, its rows and the words of its path."""

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.data.source import FORMATS
from concord.metrics_core.data.text_files import DELIMITERS, first_line
from concord.metrics_core.errors import refuse
from concord.metrics_core.files import refuse_special

# Written small, without anything but letters and digits.
COLUMNS: Mapping[str, str] = {
    "user": "user userid uid useridx customer customerid client clientid visitor visitorid member memberid account"
    " accountid person personid reader readerid reviewerid session sessionid query queryid qid",
    "item": "item itemid iid itemidx movie movieid film filmid product productid article articleid track trackid song"
    " songid artist artistid book bookid isbn asin parentasin sku news newsid video videoid game gameid app appid"
    " recipe recipeid business businessid venue venueid poi doc docid document documentid hotel hotelid",
    "rank": "rank ranking position pos place",
    "score": "score prediction predicted pred predictedrating ratingpred predrating est estimate similarity",
    "grade": "grade rating relevance rel label stars gain",
    "time": "time timestamp ts datetime date createdat eventtime tdat unixtimestamp",
    "categories": "categories category genres genre tags topics",
    "title": "title name movietitle productname itemname",
}
LISTED = (
    "items itemids movies movieids products productids recs recommendations recommended predictions"
)
_MEANT = {each: ours for ours, names in COLUMNS.items() for each in names.split()}
_CLEARNESS = {each: place for place, each in enumerate(_MEANT)}
# Words of a path, the clearest first.
ROLES: Mapping[str, str] = {
    "truth": "test holdout heldout truth groundtruth groundtruths qrels gt",
    "validation": "valid validation val dev",
    "train": "train training history",
    "lists": "recs rec recommendations recommendation recommended predictions preds pred topn topk lists candidates"
    " ranked ranking rankings runs scored",
    "items": "items item movies products articles catalog catalogue metadata meta books tracks",
    "users": "users user customers visitors members",
}
_WORD = re.compile(r"[a-z]+")
BASELINES = (
    "popularity popular mostpopular pop toppop mostpop topsellers bestsellers baseline random"
)


def columns_meant(names: Iterable[str]) -> dict[str, str]:
    """Ours -> theirs, for each column of ours that a name stands for; of several the clearest name, as `COLUMNS` orders them."""
    found: dict[str, str] = {}
    for name in sorted(
        names, key=lambda name: (_CLEARNESS.get(_plain(name), 0), name not in COLUMNS)
    ):
        ours = _MEANT.get(_plain(name))
        if ours is not None and ours not in found:
            found[ours] = name
    return found


def _plain(name: str) -> str:
    """A name in small letters and digits, without anything between them."""
    return re.sub(r"[\W_]", "", name).casefold()


def list_meant(names: Iterable[str]) -> str | None:
    """The column that holds lists of items: the only one, or the one that is called so, be it in the singular."""
    found = list(names)
    known = {*LISTED.split(), *COLUMNS["item"].split()}
    likely = [name for name in found if _plain(name) in known]
    alone = found if len(found) == 1 and not columns_meant(found) else []
    return next(iter([*likely, *alone]), None)


def role_said(path: str, among: Iterable[str]) -> str | None:
    """Which of some roles the words of a path say that a file has; the last word that says one decides."""
    words = _WORD.findall(path.casefold())
    pairs = [one + other for one, other in pairwise(words)]
    known = {word: role for role in among for word in ROLES[role].split()}
    said = [known[word] for word in [*pairs, *words] if word in known]
    return said[-1] if said else None


def is_baseline(model: str) -> bool:
    """Does the name say that others are measured by it?"""
    return _plain(model) in BASELINES.split()


TREC = {"run": ("user", "item", "rank", "score"), "qrels": ("user", "item", "grade")}


@dataclass(frozen=True)
class Peeked:
    """A file that may be a table: its format, its columns, and those that hold a list in each row."""

    path: Path
    form: str
    columns: tuple[str, ...]
    lists: tuple[str, ...] = ()


def peeked(path: Path) -> Peeked | None:
    """None where the file has no form that Concord reads, or nothing can be seen in it."""
    form = _form(path)
    if form is None:
        return None
    try:
        return _READ[form](path, form)
    except (OSError, ValueError, LookupError, RecursionError, csv.Error, pa.ArrowException):
        return None


def parts_of(path: Path) -> list[Path]:
    """Return the file, or the parquet files of a folder in the order of their paths."""
    if not path.is_dir():
        return [path]
    return sorted(part for part in path.rglob("*.parquet") if part.is_file())


def _form(path: Path) -> str | None:
    if path.is_dir():
        return "parquet"  # in parts
    named = Path(path.stem) if path.suffix == ".gz" else path
    return FORMATS.get(named.suffix.lower())


def _schema(path: Path, form: str) -> Peeked:
    if form == "parquet":
        schema = pq.read_schema(parts_of(path)[0])
    else:
        with pa.memory_map(str(path)) as file:
            schema = pa.ipc.open_file(file).schema
    lists = [f.name for f in schema if pa.types.is_list(f.type) or pa.types.is_large_list(f.type)]
    return Peeked(path, form, tuple(schema.names), tuple(lists))


def _header(path: Path, form: str) -> Peeked:
    (names,) = csv.reader([first_line(path)], delimiter=DELIMITERS[form])
    return Peeked(path, form, tuple(name.lstrip("\ufeff") for name in names))


def _keys(path: Path, form: str) -> Peeked:
    row = json.loads(first_line(path))
    if not isinstance(row, dict):
        return Peeked(path, form, ())
    lists = [name for name, value in row.items() if isinstance(value, list | dict)]
    return Peeked(path, form, tuple(row), tuple(lists))


def _trec(path: Path, form: str) -> Peeked:
    kind = "qrels" if ".qrels" in path.suffixes else "run"
    return Peeked(path, form, TREC[kind])


_READ: dict[str, Callable[[Path, str], Peeked]] = {
    "parquet": _schema,
    "arrow": _schema,
    "csv": _header,
    "tsv": _header,
    "jsonl": _keys,
    "trec": _trec,
}


_SCANNED = 1 << 30  # bytes; of larger files nothing is counted
_TIMES = 1_000  # rows whose times are looked at


def longest_list(table: Peeked, unit: Sequence[str]) -> int | None:
    """Rows of the list that has most, where these columns say to which list a row belongs; None where that is not seen at once."""
    most = pl.struct(unit).value_counts().struct[1].max()
    many = None if table.lists else _row(table, most)
    return int(many[0]) if many and many[0] else None


def value_range(table: Peeked, column: str) -> tuple[float, float] | None:
    """The smallest and the largest number of a column; None where that is not seen at once."""
    if column in table.lists:
        return None
    value = pl.col(column).cast(pl.Float64, strict=False)
    finite = value.filter(value.is_finite())
    found = _row(table, finite.min().alias("low"), finite.max().alias("high"))
    return (found[0], found[1]) if found and found[0] is not None else None


def stands_twice(table: Peeked, columns: Sequence[str]) -> bool:
    """Do two rows hold the same in these columns?"""
    found = _row(table, pl.len(), pl.struct(columns).n_unique().alias("different"))
    return found is not None and not table.lists and found[1] < found[0]


def holds_times(table: Peeked, column: str) -> bool:
    """Are its values timestamps or numbers, or texts that are read as such, and is none missing?

    False where that is not seen at once.
    """
    frame, missing = _scanned(table), _row(table, pl.col(column).null_count())
    if frame is None or missing is None or missing[0]:
        return False
    head = frame.select(column).head(_TIMES).collect()[column]
    if head.dtype != pl.String:
        return head.dtype.is_numeric() or head.dtype in (pl.Date, pl.Datetime)
    return table.form in DELIMITERS and all(map(_is_time, head))


def _is_time(text: str) -> bool:
    for read in (float, datetime.fromisoformat):
        try:
            read(text)
        except ValueError:
            continue
        return "_" not in text
    return False


def _row(table: Peeked, *asked: pl.Expr) -> tuple[float, ...] | None:
    frame = _scanned(table)
    try:
        return frame.select(*asked).collect().row(0) if frame is not None else None
    except pl.exceptions.PolarsError:  # rows that cannot be read are told by `concord validate`
        return None


def _scanned(table: Peeked) -> pl.LazyFrame | None:
    path = table.path
    parts = parts_of(path)
    if sum(part.stat().st_size for part in parts) > _SCANNED:
        return None
    if table.form == "parquet":
        return pl.scan_parquet(parts, glob=False, hive_partitioning=False)
    if table.form in DELIMITERS and path.suffix != ".gz":
        return pl.scan_csv(path, separator=DELIMITERS[table.form], infer_schema=False, glob=False)
    return None


Columns = dict[str, str]  # ours -> theirs
Role = Literal[
    "truth", "validation", "train", "items", "users", "lists", "validation lists", "unsaid"
]
_SPLITS = ("truth", "validation", "train")
_TAKEN_FOR_READ = {  # which of our columns are read in which role
    "truth": ("user", "item", "grade", "time"),
    "validation": ("user", "item", "grade", "time"),
    "train": ("user", "item", "time"),
    "items": ("item", "categories", "title"),
    "users": ("user",),
    "lists": ("user", "item", "rank", "score"),
    "validation lists": ("user", "item", "rank", "score"),
    "unsaid": ("user", "item"),
}


@dataclass(frozen=True)
class Table:
    """A file and its columns; `made_by` is the stage that makes it, `order` how its lists are ordered."""

    peeked: Peeked
    columns: Columns
    made_by: str = ""
    order: str | None = None

    @property
    def path(self) -> Path:
        return self.peeked.path


def taken_for(seen: Peeked, path: str) -> Role | None:
    """The role; `unsaid` where it is a table of users and items of which nothing tells the role."""
    meant = _meant(seen)
    if {"user", "item"} <= set(meant):
        return _of_pairs(seen, path, meant)
    if "item" in meant:
        told = role_said(path, ("items", "train", "truth", "lists"))
        described = "title" in meant or "categories" in meant
        return "items" if told == "items" or (told is None and described) else None
    return "users" if "user" in meant and role_said(path, ("users",)) else None


def _of_pairs(seen: Peeked, path: str, meant: Columns) -> Role:
    """A rank or a score makes lists, unless there are grades as well or the name of the file or of its folder
    says something else; so do items of which a row holds many.
    """
    said = role_said(path, (*_SPLITS, "lists"))
    split = role_said("/".join(Path(path).parts[-2:]), _SPLITS)
    if ("rank" in meant or "score" in meant) and "grade" not in meant:
        said = "lists" if split is None or role_said(path, ("lists",)) else split
    if said == "lists" and split == "validation":
        return "validation lists"
    return said or ("lists" if meant["item"] in seen.lists else "unsaid")  # type: ignore[return-value]


def as_table(seen: Peeked, role: Role, made_by: str = "") -> Table:
    """The table with the columns that are read in this role."""
    meant = _meant(seen)
    if role.endswith("lists") and not {"rank", "score"} & set(meant) and "grade" in meant:
        meant["score"] = meant["grade"]
    columns = {ours: meant[ours] for ours in _TAKEN_FOR_READ[role] if ours in meant}
    has_order = {"rank", "score"} & set(columns) or columns.get("item") in seen.lists
    return Table(
        seen, columns, made_by, "file" if role.endswith("lists") and not has_order else None
    )


def named_table(path: Path, role: Role) -> Table:
    """A file that somebody names for a role.

    Raises
    ------
    InputError : it cannot be read as a table, or no column of users and items is known in it
    """
    where = os.path.relpath(path)
    if not path.exists():
        fix = "name one; `dvc pull` or `dvc repro` may bring it"
        raise refuse(where, "there is no such file", fix)
    fix = "name a file whose ending tells its format: .parquet, .csv, .tsv, .arrow, .jsonl, .run"
    refuse_special(path, fix)
    seen = peeked(path)
    if seen is None:
        raise refuse(where, "is no table that can be read", fix)
    if not {"user", "item"} <= set(_meant(seen)):
        what = f"has no columns that are known for user and item: {', '.join(seen.columns)}"
        raise refuse(where, what, "rename them to user and item, or write params.yaml by hand")
    return as_table(seen, role)


def _meant(seen: Peeked) -> Columns:
    """Ours -> theirs; lists in rows may have a name in the plural."""
    meant = columns_meant(seen.columns)
    if "user" in meant and meant.get("item") not in seen.lists and (many := list_meant(seen.lists)):
        meant["item"] = many
    return meant
