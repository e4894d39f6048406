"""Stage `load-truth`: the truth as it was left -> user, item, grade, sorted; and what was found in it."""

from pathlib import Path
from typing import Any

import duckdb

from metrics_core.conventions import Conventions
from metrics_core.row_checks import in_words, only_row
from pipeline.checks import InputError, refuse
from pipeline.loading.input_file import InputFile
from pipeline.loading.list_checks import sound_rows, value_problems
from pipeline.loading.policies import notes_of, settle_truth
from pipeline.loading.quality import describe, in_numbers
from pipeline.loading.sorted_parquet import write_query
from pipeline.loading.sources import Source, format_of, input_path, read_source
from pipeline.loading.truth_checks import repeated_judgements, truth_checks
from pipeline.loading.workspace import workspace
from pipeline.outputs import prepare, write_json
from pipeline.params import Input, Params, read_params
from pipeline.running.unchanged import unchanged
from pipeline.stage import run

KEY = "data.truth"
SHOWN = 20  # distinct grades that are counted one by one


def main() -> str:
    params = read_params()
    prepare(params.results, params.results.data, params.results.quality)
    with workspace() as connection:
        return load_truth(connection, params)


def load_truth(connection: duckdb.DuckDBPyConnection, params: Params) -> str:
    """Write the truth and its quality file, on refusal neither; says what was read."""
    file = truth_file(params)
    with unchanged(file.path):
        source = read_source(connection, file)
        _refuse_problems(connection, source, params.input)
        changed = settle_truth(connection, source, params.input)
        if not only_row(connection, "SELECT count(*) FROM source")[0]:
            what = "has no row that is left: every grade is negative"
            raise refuse(str(file.path), what, "set `input.negative_grade: zero`")
        quality = describe(connection, source) | _grades(connection, source) | changed
    quality["notes"] += notes_of(changed)
    grade = "grade" if "grade" in source.columns else "1.0::DOUBLE AS grade"
    place = ", position AS place" if _order_counts(params.pinned) else ""
    time = ", time" if "time" in source.columns else ""
    query = f"SELECT user, item, {grade}{time}{place} FROM source ORDER BY user, grade DESC, item"
    write_query(connection, query, Path(params.results.data) / "truth.parquet")
    write_json(Path(params.results.quality) / "truth.json", quality)
    return in_numbers(quality)


def _refuse_problems(
    connection: duckdb.DuckDBPyConnection, source: Source, policies: Input
) -> None:
    checks = truth_checks(source, policies)
    problems = value_problems(connection, source, checks)
    rows = sound_rows(checks) if problems else "source"
    if policies.repeated_grade == "error":
        problems += repeated_judgements(connection, source, rows)
    if problems:
        raise InputError(problems)


def _order_counts(conventions: Conventions) -> bool:
    """Does any metric read the truth in the order in which it was given?"""
    return any(own.ideal == "truth_given_order_at_k" for own in conventions.variants)


def truth_file(params: Params) -> InputFile:
    entry = params.data.truth
    path = input_path(KEY, entry.path, allow_outside=params.input.allow_outside)
    form = format_of(KEY, path, entry.format)
    columns = {str(ours): theirs for ours, theirs in entry.columns.items()}
    return InputFile(KEY, path, form, ("user", "item"), ("grade", "time"), columns)


def _grades(connection: duckdb.DuckDBPyConnection, source: Source) -> dict[str, Any]:
    if "grade" not in source.columns:
        note = f"there is no column {source.file.theirs('grade')!r}: every row has grade 1"
        (rows,) = only_row(connection, "SELECT count(*) FROM source")
        return {"grades": {"1": rows}, "notes": [note]}
    query = "SELECT grade, count(*) FROM source GROUP BY grade ORDER BY grade"
    found = connection.execute(query).fetchall()
    if len(found) > SHOWN:
        return {"grades": None, "notes": [f"{in_words(len(found), 'different grade')}"]}
    return {
        "grades": {repr(grade).removesuffix(".0"): count for grade, count in found},
        "notes": [],
    }


if __name__ == "__main__":
    run(main)
