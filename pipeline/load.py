"""Stage: one model's file as it was left -> lists in rank order, and what was found in it."""

from pathlib import Path
from typing import Any

import duckdb

from metrics_core.ranking import Ranked, rank_lists
from metrics_core.row_checks import ListsError, in_words, only_row
from pipeline import stage
from pipeline.checks import InputError, Problem
from pipeline.hashes import hashes
from pipeline.input_file import InputFile
from pipeline.list_checks import list_checks, sound_rows, value_problems
from pipeline.outputs import write_json
from pipeline.params import ListsFile, Params, read_params
from pipeline.sorted_parquet import write_query
from pipeline.sources import Source, format_of, read_source, refuse_missing
from pipeline.workspace import workspace


def main() -> None:
    params = read_params()
    model = stage.model_argument(params)
    with workspace() as connection:
        load(connection, params, model)


def load(connection: duckdb.DuckDBPyConnection, params: Params, model: str) -> None:
    """Write a model's ranked lists and its quality file; on refusal, neither."""
    file = lists_file(f"models.{model}", params.models[model])
    source = read_source(connection, file, rank_base=params.input.rank_base)
    ranked = _ranked(connection, source, params, params.models[model])
    score = ", score" if "score" in source.columns else ""
    query = f"SELECT user, item, rank{score} FROM {ranked.relation}"
    write_query(connection, query, Path(params.results.lists) / f"{model}.parquet")
    quality = {"model": model} | describe(source) | _found(connection, source, ranked, params)
    write_json(Path(params.results.quality) / f"{model}.json", quality)


def lists_file(key: str, entry: ListsFile) -> InputFile:
    path = Path(entry.path)
    refuse_missing(key, path)
    form = format_of(key, path, entry.format)
    columns = {str(ours): theirs for ours, theirs in entry.columns.items()}
    return InputFile(key, path, form, ("user", "item"), ("rank", "score"), columns)


def describe(source: Source) -> dict[str, Any]:
    """What stands in a quality file whatever the input."""
    file, known = source.file, hashes(source.file.path)
    return {
        "path": file.path.as_posix(),
        "format": file.format,
        "sha256": known.sha256,
        "md5": known.md5,
        "bytes": known.bytes,
    }


def counts(connection: duckdb.DuckDBPyConnection, source: Source) -> dict[str, Any]:
    query = "SELECT count(*), count(DISTINCT user), count(DISTINCT item) FROM source"
    rows, users, items = only_row(connection, query)
    types = {
        f"{column}_type": "text" if source.is_text(column) else "integer"
        for column in ("user", "item")
    }
    return {"rows": rows, "users": users, "items": items} | types


def _ranked(
    connection: duckdb.DuckDBPyConnection, source: Source, params: Params, entry: ListsFile
) -> Ranked:
    """The ranked lists; every problem of the file is collected before it is refused."""
    checks = list_checks(source)
    problems = value_problems(connection, source, checks)
    pinned = params.pinned
    try:
        ranked = rank_lists(
            connection,
            sound_rows(checks) if problems else "source",
            has_rank="rank" in source.columns,
            has_score="score" in source.columns,
            order=entry.order,
            rank_base=params.input.rank_base,
            ties=pinned.ties,
            duplicates=pinned.duplicates,
            score_dtype=pinned.score_dtype,
            place=source.raw.place,
        )
    except ListsError as error:
        path = source.file.path
        problems += [Problem(f"{path}: {where}", what, fix) for where, what, fix in error.problems]
    if problems:
        raise InputError(problems)
    return ranked


def _found(
    connection: duckdb.DuckDBPyConnection, source: Source, ranked: Ranked, params: Params
) -> dict[str, Any]:
    has_scores = "score" in source.columns
    lengths = (
        "SELECT min(n), median(n), max(n) FROM (SELECT count(*) AS n FROM source GROUP BY user)"
    )
    infinite = "SELECT count(*) FILTER (WHERE isinf(score)) FROM source"
    pinned = params.pinned
    found = {
        "order": ranked.order,
        "list_length": dict(
            zip(("min", "median", "max"), map(_plain, only_row(connection, lengths)), strict=True)
        ),
        "has_scores": has_scores,
        "ties": {"rows": ranked.ties.rows, "users": ranked.ties.users, "policy": pinned.ties},
        "duplicates": {
            "rows": ranked.duplicates.rows,
            "users": ranked.duplicates.users,
            "policy": pinned.duplicates,
        },
        "rank_score_disagreements": {"users": ranked.disagreements.users},
        "infinite_scores": only_row(connection, infinite)[0] if has_scores else 0,
    }
    return counts(connection, source) | found | {"notes": _notes(found)}


def _notes(found: dict[str, Any]) -> list[str]:
    """What a reader of the report should know, in words."""
    ties, repeated, infinite = found["ties"], found["duplicates"], found["infinite_scores"]
    disagreeing = found["rank_score_disagreements"]["users"]
    told = (
        (
            ties["rows"],
            "{} of {} tie with another of the same list; `ties: {policy}` ordered them",
            ties,
        ),
        (
            repeated["rows"],
            "{} of {} repeat an item of the same list; `duplicates: {policy}` applied",
            repeated,
        ),
    )
    notes = [
        sentence.format(
            in_words(rows, "row"), in_words(count["users"], "user"), policy=count["policy"]
        )
        for rows, sentence, count in told
        if rows
    ]
    if disagreeing:
        notes.append(
            f"ranks and scores disagree in the lists of {in_words(disagreeing, 'user')}; ranks decided"
        )
    if infinite:
        notes.append(f"{in_words(infinite, 'score')} infinite")
    return notes


def _plain(number: float) -> float | int:
    return int(number) if number == int(number) else number


if __name__ == "__main__":
    stage.run(main)
