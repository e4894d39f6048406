"""What categories and vectors of the catalogue may not be."""

import polars as pl

from concord.metrics_core.checking.problems import Problem, in_words
from concord.metrics_core.reading.formats.source import Source

_CATEGORIES = "write a list of text, or text with `|` between the categories; leave it empty for an item without"
_TITLE = "write titles as text"
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
    return problems


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
