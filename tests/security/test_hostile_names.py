"""Statements, patterns and quotes as names of files, columns, users and items stay plain names."""

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest

from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.segment_groups import group_users
from concord.metrics_core.comparison.segmentation import ByColumn
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.pipeline.params.model import BackgroundFile
from concord.pipeline.running.connections import isolated_connection
from concord.pipeline.stages.load import load_background
from tests.metrics_core.comparison.tables import EMPTY_TABLE, config_for, evaluation_data
from tests.pipeline.stages.load_project import loaded, loaded_truth, params_of, refusal

STEMS = ["a[1]", "a*", "a?", "{a,b}", "ok'); DROP TABLE source; --", 'a"b', "$HOME", "%s {0}"]
DECOYS = ["a1", "ab", "a"]  # what the patterns among these names would find
COLUMNS = ['a"b', "a'b", "x); DROP TABLE source; --", "^.*$", "*", "$1", "{user}", "a b"]
IDS = ["'; DROP TABLE source; --", '"', "a\\b", "^.*$", "*", "{0}", "%s", "<b>", "=1+1", "../a"]


def _nested(frame: pl.DataFrame, path: Path) -> None:
    rows = frame.group_by("user", maintain_order=True).agg(pl.col("item")).to_dicts()
    lines = [json.dumps({"user": row["user"], "items": row["item"]}) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _run(frame: pl.DataFrame, path: Path) -> None:
    lines = [f"{user} Q0 {item} {rank} {-rank} m\n" for user, item, rank in frame.rows()]
    path.write_text("".join(lines), encoding="utf-8")


def _parts(frame: pl.DataFrame, path: Path) -> None:
    path.mkdir()
    frame.write_parquet(path / "part[0].parquet")


WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".csv": lambda frame, path: frame.write_csv(path),
    ".tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    ".csv.gz": lambda frame, path: path.write_bytes(gzip.compress(frame.write_csv().encode())),
    ".parquet": lambda frame, path: frame.write_parquet(path),
    ".arrow": lambda frame, path: frame.write_ipc(path),
    ".jsonl": _nested,
    ".run": _run,
    "": _parts,
}
TABLES = {name: WRITERS[name] for name in (".csv", ".tsv", ".parquet")} | {
    ".jsonl": lambda frame, path: frame.write_ndjson(path)
}


def _crossed(forms: Iterable[str], names: list[str]) -> list[tuple[str, str]]:
    """Return every name in a CSV, and two names in each other form."""
    pairs = [(".csv", name) for name in names]
    for n, form in enumerate(form for form in forms if form != ".csv"):
        pairs += [(form, names[n % len(names)]), (form, names[(n + 3) % len(names)])]
    return pairs


def _lists(item: str) -> pl.DataFrame:
    return pl.DataFrame({"user": ["u"], "item": [item], "rank": [1]})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("form", "stem"), _crossed(WRITERS, STEMS))
def test_lists_are_read_from_the_file_that_is_named(form: str, stem: str) -> None:
    for other in DECOYS:
        WRITERS[form](_lists("decoy"), Path(f"{other}{form}"))
    WRITERS[form](_lists("right"), Path(f"{stem}{form}"))
    rows, quality = loaded(f"{stem}{form}")
    assert [row[1] for row in rows] == ["right"]
    assert quality["path"] == f"{stem}{form}"


@pytest.mark.parametrize(("form", "stem"), _crossed(TABLES, STEMS))
def test_truth_and_background_are_read_from_the_file_that_is_named(form: str, stem: str) -> None:
    for name in [*DECOYS, stem]:
        item = "right" if name == stem else "decoy"
        frame = pl.DataFrame({"user": [item], "item": [item]})
        TABLES[form](frame, Path(f"{name}{form}"))
    rows, _ = loaded_truth(f"{stem}{form}")
    assert [row[1] for row in rows] == ["right"]
    for name, column in (("train", "item"), ("items", "item"), ("users", "user")):
        assert _background(name, f"{stem}{form}")[column].to_list() == ["right"]


@pytest.mark.parametrize(("form", "column"), _crossed([".parquet", ".jsonl"], COLUMNS))
def test_columns_are_found_by_any_name(form: str, column: str) -> None:
    frame = _lists("right").rename({"item": column}).with_columns(other=pl.lit("wrong"))
    TABLES[form](frame, Path(f"lists{form}"))
    rows, _ = loaded(f"lists{form}", columns={"item": column})
    assert [row[1] for row in rows] == ["right"]


def test_keys_of_json_that_differ_in_capitals_only_are_refused() -> None:
    Path("lists.jsonl").write_text('{"user": "u", "User": "a", "rank": 1}\n', encoding="utf-8")
    assert "the keys 'user' and 'User' differ only in case" in refusal(
        "lists.jsonl", columns={"item": "User"}
    )


@pytest.mark.parametrize(("form", "column"), _crossed(TABLES, COLUMNS))
def test_users_are_grouped_by_a_column_of_any_name(form: str, column: str) -> None:
    frame = pl.DataFrame({"user": ["u", "v"], column: ["x", "y"], "other": ["1", "2"]})
    TABLES[form](frame, Path(f"users{form}"))
    written = _background("users", f"users{form}")
    assert written.columns == ["user", column, "other"]
    segment = ByColumn(column)
    users = Path(params_of("-").results.data) / "users.parquet"
    model = ModelResult(pl.DataFrame({"user": ["v", "u"]}), EMPTY_TABLE, EMPTY_TABLE, {}, {})
    inputs = ComparisonInput(config_for(["P@1"], "m"), {"m": model}, evaluation_data(users=users))
    groups = group_users(inputs, "any", segment)
    assert groups.names == ["x", "y"]
    assert groups.group_numbers.tolist() == [1, 0]


@pytest.mark.parametrize("form", [form for form in WRITERS if form != ".run"])
def test_ids_come_out_as_they_went_in(form: str) -> None:
    frame = pl.DataFrame({"user": IDS, "item": IDS[::-1], "rank": [1] * len(IDS)})
    WRITERS[form](frame, Path(f"lists{form}"))
    rows, _ = loaded(f"lists{form}")
    assert {row[:2] for row in rows} == set(zip(IDS, IDS[::-1], strict=True))


def _background(name: str, path: str) -> pl.DataFrame:
    entry = BackgroundFile.model_validate({"path": path})
    params = params_of(path).model_copy(update={"background": {name: entry}})
    with isolated_connection() as connection:
        load_background(connection, params, name)
    return pl.read_parquet(f"results/data/{name}.parquet", glob=False)
