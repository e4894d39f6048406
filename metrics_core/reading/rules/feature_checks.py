"""What categories and vectors of the catalogue may not be."""

from collections.abc import Iterator, Sequence

import polars as pl

from concord.metrics_core.checking.problems import Problem, in_words
from concord.metrics_core.reading.formats.source import Source

_CATEGORIES = "write a list of text, or text with `|` between the categories; leave it empty for an item without"
_TITLE = "write titles as text"
_GROUP = "write one text for each item; leave it empty for an item without a group"
_COARSER = "write a coarser column"
MOST_GROUPS = 100
_NUMBER = "write a finite number for every item that the truth names"
_VECTOR = "write a list of finite numbers of one length for every item; leave it empty for an item without"


def feature_problems(source: Source, frame: pl.DataFrame) -> list[Problem]:
    """One problem a check that fails, at the first item that fails it."""
    problems = []
    if "categories" in frame.columns:
        problems += _problems(
            source, frame, "categories", _kind(frame, "categories", text=True), _CATEGORIES
        )
    if "vector" in frame.columns:
        problems += _problems(source, frame, "vector", _kind(frame, "vector", text=False), _VECTOR)
    if "title" in frame.columns and frame.schema["title"].is_nested():
        where = f"{source.file.name}: column {source.file.theirs('title')!r}"
        problems.append(Problem(where, f"is of type {frame.schema['title']}", _TITLE))
    if "group" in source.file.columns:
        problems += group_problems(source, frame)
    return problems


def group_problems(source: Source, frame: pl.DataFrame) -> Iterator[Problem]:
    """What items' groups may not be."""
    where = f"{source.file.name}: column {source.file.theirs('group')!r}"
    if frame.schema["group"].is_nested():
        yield Problem(where, f"is of type {frame.schema['group']}", _GROUP)
    elif (n := frame["group"].n_unique()) > MOST_GROUPS + 1:  # one of them may be empty
        yield Problem(where, f"has {n:,} different values, and groups are at most {MOST_GROUPS}", _COARSER)  # fmt: skip
    elif frame["group"].null_count() == len(frame):
        yield Problem(where, "is empty for every item", _GROUP)


def as_number(frame: pl.DataFrame, name: str) -> pl.Expr:
    """A column of numbers as float64; text that is a number counts as one, other text becomes NaN."""
    if frame.schema[name] == pl.String:
        text = pl.col(name).str.strip_chars()
        return (
            text.cast(pl.Float64, strict=False)
            .fill_null(pl.when(text.is_not_null()).then(float("nan")))
            .alias(name)
        )
    return pl.col(name).cast(pl.Float64) if frame.schema[name].is_numeric() else pl.col(name)


def number_problems(source: Source, frame: pl.DataFrame, names: Sequence[str]) -> Iterator[Problem]:
    """Columns that metrics are to read as numbers, and that hold something else; a missing number is none."""
    for name in names:
        where = f"{source.file.name}: column {source.file.theirs(name)!r}"
        if frame.schema[name] != pl.Float64:
            yield Problem(where, f"is of type {frame.schema[name]}", _NUMBER)
            continue
        wrong = frame.filter(pl.col(name).is_not_null() & ~pl.col(name).is_finite())
        yield from _first(where, wrong, "is no finite number", _NUMBER)


def _kind(frame: pl.DataFrame, name: str, *, text: bool) -> bool:
    """Is the column made of lists of what it should hold?"""
    kind = frame.schema[name]
    if not isinstance(kind, pl.List | pl.Array):
        return kind == pl.Null
    inner = kind.inner
    return inner == pl.Null or (inner == pl.String if text else inner.is_numeric())


def _problems(
    source: Source, frame: pl.DataFrame, name: str, is_kind: bool, fix: str
) -> list[Problem]:
    where = f"{source.file.name}: column {source.file.theirs(name)!r}"
    if not is_kind:
        return [Problem(where, f"is of type {frame.schema[name]}", fix)]
    if frame.schema[name] == pl.Null:
        return []
    lists = frame.select("item", pl.col(name).alias("held"))
    if isinstance(frame.schema[name], pl.Array):
        lists = lists.with_columns(pl.col("held").arr.to_list())
    lists = lists.filter(pl.col("held").list.len() > 0)
    held = lists.explode("held").cast({"held": pl.String if name == "categories" else pl.Float64})
    if name == "categories":
        blank = pl.col("held").is_null() | (pl.col("held").str.strip_chars() == "")
        return _first(where, held.filter(blank), "a category is blank", fix)
    lengths = lists.select("item", pl.col("held").list.len().alias("n"))
    wrong = pl.col("held").is_null() | ~pl.col("held").is_finite()
    return [
        *_first(where, held.filter(wrong), "a number is missing or not finite", fix),
        *_first(
            where,
            lengths.filter(pl.col("n") != pl.col("n").first()),
            f"vectors have different lengths: {lengths['n'].unique().sort().to_list()[:5]}",
            fix,
        ),
    ]


def _first(where: str, bad: pl.DataFrame, what: str, fix: str) -> list[Problem]:
    if bad.is_empty():
        return []
    items = in_words(bad["item"].n_unique(), "item")
    return [Problem(f"{where} (item {bad['item'][0]!r})", f"{what}; {items} affected", fix)]
