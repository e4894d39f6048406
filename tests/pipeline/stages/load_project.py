"""A project of one model and a truth in an empty folder, and the same lists in every format."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pytest

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.workers import THREADS_VARIABLE
from concord.pipeline.params.model import BackgroundFile, Params
from concord.pipeline.running.connections import isolated_connection
from concord.pipeline.stages.load import load, load_background, load_truth
from tests.pipeline.params.params_content import INPUT, params_content
from tests.pipeline.refusals import refusal_of

Row = tuple[str, str, int, float]  # user, item, rank, score


def params_of(path: str, **changes: Any) -> Params:
    """Return params with the file `path` as truth and model `m`; `shared`: `data.columns`."""
    conventions = (
        preset("standard").as_dict() | changes.pop("conventions", {}) | {"preset": "custom"}
    )
    policies = INPUT | {name: changes.pop(name) for name in INPUT if name in changes}
    own = {"exclude": changes.pop("exclude", None)}
    shared, words = changes.pop("shared", {}), changes.pop("words", {})
    truth = {name: value for name, value in changes.items() if name != "order"}
    if {"rank", "score"} & set(truth.get("columns", {})):
        truth = {}
    lists = {name: value for name, value in changes.items() if name != "additional"}
    if {"grade", "time", "subtopic"} & set(lists.get("columns", {})):
        lists = {}
    content = params_content(
        {"m": {"path": path, **lists}},
        ["P"],
        [1],
        data={"truth": {"path": path, **truth}, "columns": shared, "words": words, **own},
        input=policies,
        evaluation={"rows_per_partition": 100},
        comparison={"min_effect": 0.0},
        conventions=conventions,
    )
    return Params.model_validate(content)


def loaded(
    path: str, *, threads: int | None = None, **changes: Any
) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """Return the rows of the ranked lists and the content of the quality file.

    With `threads`, a new database is used; else that of this process, which is faster.
    """
    params = params_of(path, **changes)
    if threads is None:
        with in_memory() as connection:
            load(connection, params, "m")
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(THREADS_VARIABLE, str(threads))
            with isolated_connection() as connection:
                load(connection, params, "m")
    quality = json.loads(Path("results/quality/m.json").read_text(encoding="utf-8"))
    return pl.read_parquet("results/lists/m.parquet").rows(), quality


def loaded_truth(path: str, **changes: Any) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    with in_memory() as connection:
        load_truth(connection, params_of(path, **changes))
    quality = json.loads(Path("results/quality/truth.json").read_text(encoding="utf-8"))
    return pl.read_parquet("results/data/truth.parquet").rows(), quality


def loaded_background(
    name: str, path: str, **entry: Any
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    file = BackgroundFile.model_validate({"path": path, **entry})
    params = params_of("lists.csv").model_copy(update={"background": {name: file}})
    with in_memory() as connection:
        load_background(connection, params, name)
    quality = json.loads(Path(f"results/data/{name}.json").read_text(encoding="utf-8"))
    return pl.read_parquet(f"results/data/{name}.parquet").to_dicts(), quality


def background_refusal(name: str, path: str, **entry: Any) -> str:
    return _refusal(lambda: loaded_background(name, path, **entry))


def refusal(path: str, **changes: Any) -> str:
    return _refusal(lambda: loaded(path, **changes))


def truth_refusal(path: str, **changes: Any) -> str:
    return _refusal(lambda: loaded_truth(path, **changes))


def _refusal(load: Callable[[], object]) -> str:
    """Return the whole message; assert that no result was written."""
    message = refusal_of(load)
    assert not Path("results").exists()
    return message


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    schema = {"user": pl.String, "item": pl.String, "rank": pl.Int64, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _csv(rows: Sequence[Row], separator: str) -> str:
    return frame(rows).write_csv(separator=separator)


def _nested(rows: Sequence[Row]) -> str:
    lines = []
    for user in dict.fromkeys(row[0] for row in rows):
        user_rows = sorted((row for row in rows if row[0] == user), key=lambda row: row[2])
        content = {
            "user": user,
            "items": [row[1] for row in user_rows],
            "scores": [row[3] for row in user_rows],
        }
        lines.append(json.dumps(content))
    return "\n".join(lines) + "\n"


def _flat(rows: Sequence[Row]) -> str:
    return "".join(
        json.dumps({"user": user, "item": item, "rank": rank, "score": score}) + "\n"
        for user, item, rank, score in rows
    )


def _run(rows: Sequence[Row]) -> str:
    return "".join(f"{user} Q0 {item} {rank} {score!r} m\n" for user, item, rank, score in rows)


def _by_query(rows: Sequence[Row]) -> str:
    lists: dict[str, dict[str, float]] = {}
    for user, item, _, score in rows:
        lists.setdefault(user, {})[item] = score
    return json.dumps(lists)


TEXT_FORMS: dict[str, Callable[[Sequence[Row]], str]] = {
    "lists.csv": lambda rows: _csv(rows, ","),
    "lists.tsv": lambda rows: _csv(rows, "\t"),
    "nested.jsonl": _nested,
    "flat.jsonl": _flat,
    "lists.json": _by_query,
    "lists.run": _run,
}


def write_parts(rows: Sequence[Row], folder: str) -> None:
    Path(folder).mkdir()
    middle = len(rows) // 2
    frame(rows[:middle]).write_parquet(Path(folder, "part-0.parquet"))
    frame(rows[middle:]).write_parquet(Path(folder, "part-1.parquet"))
    Path(folder, "_SUCCESS").touch()


def write_stream(rows: Sequence[Row], path: str) -> None:
    table = frame(rows).to_arrow()
    with pa.OSFile(path, "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def write_every_form(rows: Sequence[Row]) -> list[str]:
    """Write the lists in every format; return the names of the files."""
    for name, form in TEXT_FORMS.items():
        Path(name).write_text(form(rows), encoding="utf-8")
        Path(f"{name}.gz").write_bytes(gzip.compress(form(rows).encode()))
    frame(rows).write_parquet("lists.parquet")
    coded = frame(rows).with_columns(pl.col("user", "item").cast(pl.Categorical))
    coded.write_parquet("dictionary.parquet")
    frame(rows).write_ipc("lists.arrow")
    frame(rows).write_ipc("lists.feather", compression="zstd")
    write_stream(rows, "lists.ipc")
    write_parts(rows, "parts")
    binary = [
        "lists.parquet",
        "dictionary.parquet",
        "lists.arrow",
        "lists.feather",
        "lists.ipc",
        "parts",
    ]
    return [*TEXT_FORMS, *(f"{name}.gz" for name in TEXT_FORMS), *binary]
