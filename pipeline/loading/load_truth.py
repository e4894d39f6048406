"""Stage `load-truth`: the truth as it was left -> user, item, grade, sorted; and what was found in it."""

from pathlib import Path
from typing import Any

import duckdb

from metrics_core.checking.row_checks import in_words, only_row
from metrics_core.conventions.conventions import Conventions
from metrics_core.reading.formats.source import Source
from metrics_core.reading.rules.policies import notes_of
from metrics_core.reading.truth import read_truth
from pipeline.loading.input_files import policies, truth_file
from pipeline.loading.quality import describe, in_numbers
from pipeline.loading.sorted_parquet import write_query
from pipeline.loading.unchanged import unchanged
from pipeline.params.model import Params
from pipeline.params.read import read_params
from pipeline.running.connections import workspace
from pipeline.running.outputs import prepare, write_json
from pipeline.running.progress import counted
from pipeline.running.stage import run

SHOWN = 20  # distinct grades that are counted one by one


def main() -> str:
    params = read_params()
    prepare(params.results, params.results.data, params.results.quality)
    with workspace() as connection:
        return load_truth(connection, params)


def load_truth(connection: duckdb.DuckDBPyConnection, params: Params) -> str:
    """Write the truth and its quality file, on refusal neither; says what was read."""
    table = truth_file(params)
    with unchanged(table.path):
        source, changed = read_truth(connection, table, policies(params), watch=counted)
        quality = describe(connection, source) | _grades(connection, source) | changed
    quality["notes"] = [*source.notes, *quality["notes"], *notes_of(changed)]
    grade = "grade" if "grade" in source.columns else "1.0::DOUBLE AS grade"
    place = ", position AS place" if _order_counts(params.pinned) else ""
    time = ", time" if "time" in source.columns else ""
    query = f"SELECT user, item, {grade}{time}{place} FROM source ORDER BY user, grade DESC, item"
    write_query(connection, query, Path(params.results.data) / "truth.parquet")
    write_json(Path(params.results.quality) / "truth.json", quality)
    return in_numbers(quality)


def _order_counts(conventions: Conventions) -> bool:
    """Does any metric read the truth in the order in which it was given?"""
    return any(own.ideal == "truth_given_order_at_k" for own in conventions.variants)


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
