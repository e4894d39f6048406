"""Lists rank alike in every form: as rows, as one row per user, by query, in files and frames."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.data import list_batches
from concord.metrics_core.data.arguments import list_policies, open_table
from concord.metrics_core.data.load_tables import InMemorySink, load_recommendations
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.relations import in_memory

Write = Callable[[pl.DataFrame, Path], Any]
PLURAL = {"item": "items", "score": "scores", "rank": "ranks"}
QUALITY = ("order", "ties", "duplicates", "rank_score_disagreements", "list_length", "rows")
ROW = {"user": pl.String, "item": pl.String}
TRUTH = {f"u{user}": {f"i{user}": 1, "i3": 2} for user in range(4)}


def _lists(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row per user with a list of each column."""
    return rows.rename(PLURAL, strict=False).group_by("user", maintain_order=True).agg(pl.all())


def _structs(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row per user with a list of structs, as `collect_list` makes it."""
    structs = rows.select("user", items=pl.struct(pl.exclude("user")))
    return structs.group_by("user", maintain_order=True).agg(pl.all())


def _several(form: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    """Return the form with a list for each two rows, of which a user may have several."""

    def make(rows: pl.DataFrame) -> pl.DataFrame:
        return pl.concat(form(rows[start : start + 2]) for start in range(0, len(rows), 2))

    return make


def _dict(rows: pl.DataFrame) -> dict[str, Any]:
    lists: dict[str, Any] = {user: {} for user in rows["user"]}
    for user, item, score in rows.iter_rows():
        lists[user][item] = score
    return lists


def _relation(rows: pl.DataFrame) -> Any:
    return duckdb.connect().from_arrow(rows.to_arrow())


def _write(method: str, ending: str, **options: Any) -> Write:
    def write(rows: pl.DataFrame, folder: Path) -> Path:
        getattr(rows, method)(folder / f"a.{ending}", **options)
        return folder / f"a.{ending}"

    return write


def _parts(rows: pl.DataFrame, folder: Path) -> Path:
    (folder / "parts").mkdir()
    for number in range(len(rows)):
        rows[number : number + 1].write_parquet(folder / "parts" / f"{number}.parquet")
    return folder / "parts"


def _json(rows: pl.DataFrame, folder: Path) -> Path:
    (folder / "a.json").write_text(json.dumps(_dict(rows)), encoding="utf-8")
    return folder / "a.json"


def _run(rows: pl.DataFrame, folder: Path) -> Path:
    lines = "".join(f"{u} Q0 {i} 0 {score!r} tag\n" for u, i, score in rows.iter_rows())
    (folder / "a.run").write_text(lines, encoding="utf-8")
    return folder / "a.run"


LAYOUTS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "rows": lambda rows: rows,
    "lists": _lists,
    "structs": _structs,
    "several lists": _several(_lists),
    "several structs": _several(_structs),
}
WRITERS: dict[str, Write] = {
    "polars": lambda rows, _: rows,
    "polars, lazy": lambda rows, _: rows.lazy(),
    "pandas": lambda rows, _: rows.to_pandas(),
    "pyarrow": lambda rows, _: rows.to_arrow(),
    "DuckDB": lambda rows, _: _relation(rows),
    "parquet": _write("write_parquet", "parquet"),
    "parts": _parts,
    "Arrow": _write("write_ipc", "arrow"),
    "Arrow stream": _write("write_ipc_stream", "arrow"),
    "JSON lines": _write("write_ndjson", "jsonl"),
}
FORMS: dict[str, Write] = {
    f"{layout}, {name}": lambda rows, folder, form=form, write=write: write(form(rows), folder)
    for layout, form in LAYOUTS.items()
    for name, write in WRITERS.items()
} | {
    "rows, CSV": _write("write_csv", "csv"),
    "rows, TSV": _write("write_csv", "tsv", separator="\t"),
}
SCORED_FORMS: dict[str, Write] = {
    "dict": lambda rows, _: _dict(rows),
    "JSON by query": _json,
    "TREC": _run,
}  # fmt: skip


@st.composite
def rows_of_lists(draw: st.DrawFn, columns: tuple[str, ...]) -> pl.DataFrame:
    """Return lists of different lengths, users in any order, with ties of scores."""
    users = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4, unique=True))
    rows = []
    for user in users:
        items = draw(st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True))
        scores = draw(st.lists(st.sampled_from([-1.0, 0.5, 0.25, 7.0]), min_size=5, max_size=5))
        ranks = draw(st.permutations(range(1, len(items) + 1)))
        for item, score, rank in zip(items, scores, ranks, strict=False):
            values = {"user": f"u{user}", "item": f"i{item}", "score": score, "rank": rank}
            rows.append({name: values[name] for name in ("user", "item", *columns)})
    return pl.DataFrame(rows)


def _loaded(recs: Any, ties: Any, order: str | None) -> tuple[list[Any], dict[str, Any]]:
    """Return the ranked rows and their quality."""
    sink, conventions = InMemorySink(), cc.preset("standard", ties=ties)
    policies = list_policies(Policies(), recs)
    with in_memory() as connection:
        table = replace(open_table("recs", recs, {}), order=order)
        loaded = load_recommendations(connection, table, policies, conventions, sink.collect)
        quality = loaded.describe()
    notes = [note for note in quality["notes"] if "columns recognised" not in note]
    return sink.table.to_pylist(), {name: quality[name] for name in QUALITY} | {"notes": notes}


def _evaluated(recs: Any, ties: Any) -> tuple[Any, list[str]]:
    conventions = cc.preset("standard", ties=ties)
    result = cc.evaluate(recs, TRUTH, metrics=["RR@3", "nDCG@3"], conventions=conventions)
    return result.per_user.to_dicts(), [each.sentence for each in result.warnings]


def assert_same_lists(forms: list[str], rows: pl.DataFrame, ties: str, order: str | None) -> None:
    """Assert that forms of the rows are ranked as the rows are."""
    expected = _loaded(rows, ties, order)
    for form in forms:
        with TemporaryDirectory() as folder:
            recs = (FORMS | SCORED_FORMS)[form](rows, Path(folder))

            assert (form, _loaded(recs, ties, order)) == (form, expected)


@given(
    rows=rows_of_lists(("score",)) | rows_of_lists(("score", "rank")) | rows_of_lists(("rank",)),
    ties=st.sampled_from(["item_asc", "item_desc", "input", "given", "average"]),
    order=st.sampled_from([None, "file"]),
    min_rows=st.sampled_from([1, 3, 1 << 19]),
    data=st.data(),
)
def test_every_form_is_ranked_as_its_rows(
    rows: pl.DataFrame, ties: str, order: str | None, min_rows: int, data: st.DataObject
) -> None:
    by_score = [*SCORED_FORMS] if rows.columns == [*ROW, "score"] and not order else []
    forms = data.draw(st.lists(st.sampled_from([*FORMS, *by_score]), min_size=4, max_size=4))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(list_batches, "MIN_ROWS", min_rows)
        assert_same_lists(forms, rows, ties, order)


UNSORTED = pl.DataFrame(
    [("u1", "x", 0.1), ("u1", "i1", 0.9), ("u1", "y", 0.9), ("u0", "i0", 0.5), ("u0", "i3", 0.7)],
    ROW | {"score": pl.Float64},
    orient="row",
)


@pytest.mark.parametrize("ties", ["item_asc", "given"])
@pytest.mark.parametrize("form", [*FORMS, *SCORED_FORMS])
def test_every_form_has_the_rows_values_and_warnings(form: str, ties: str, tmp_path: Path) -> None:
    recs = (FORMS | SCORED_FORMS)[form](UNSORTED, tmp_path)

    assert _evaluated(recs, ties) == _evaluated(UNSORTED, ties)


@pytest.mark.parametrize("ties", ["item_asc", "given"])
def test_the_better_score_is_first_in_a_list_of_structs(ties: str) -> None:
    rows = pl.DataFrame({"user": ["u1", "u1"], "item": ["x", "i1"], "score": [0.1, 0.9]})

    values, _ = _evaluated(_structs(rows), ties)

    assert values[1]["RR@3"] == (0.5 if ties == "given" else 1.0)
