"""Quality files: what a table holds, its hashes, and notes on what was read differently from how it is written."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import duckdb

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.hashes import ContentHashes, hash_content
from concord.metrics_core.data.list_batches import ListStatistics
from concord.metrics_core.data.policies import PolicyChanges, policy_notes
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.source import Source
from concord.metrics_core.errors import format_count

SHOWN = 20  # distinct grades that are counted one by one


def describe(connection: duckdb.DuckDBPyConnection, source: Source) -> dict[str, Any]:
    """Return what is known of any input: the file, its hashes, its size."""
    (users,) = only_row(connection, "SELECT count(DISTINCT user) FROM source")
    (items,) = only_row(connection, "SELECT count(DISTINCT item) FROM source")
    return describe_ids(source, users, items)


def describe_ids(source: Source, users: int, items: int) -> dict[str, Any]:
    """As `describe`, if users and items are counted already."""
    return describe_table(source) | {
        "users": users,
        "items": items,
        "user_type": "text" if source.is_text("user") else "integer",
        "item_type": "text" if source.is_text("item") else "integer",
        **({"unit": list(source.file.unit_columns)} if source.file.unit else {}),
    }


def describe_table(source: Source) -> dict[str, Any]:
    """Return what is known of any table: rows, notes, and the hashes and size of a file."""
    file = source.file
    known = hash_content(file.path) if file.rows is None and file.is_hashed else ContentHashes()
    return {
        "path": file.path.as_posix(),
        "format": file.format,
        **known.described(),
        "rows": source.rows,
        **({"notes": list(source.notes)} if source.notes else {}),
        **({"ids_rewritten": rewritten_ids(source)} if source.rewritten else {}),
    }


def rewritten_ids(source: Source) -> dict[str, dict[str, Any]]:
    """Return column -> how many rows had an id that was read without `.0`, and such an id."""
    return {each.column: {"rows": each.rows, "example": each.example} for each in source.rewritten}


def describe_folds(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the quality of ground truth with folds: rows and grades of all together, and the quality of each."""
    grades: dict[str, int] | None = {}
    for each in found.values():
        of_fold = each["grades"]
        if grades is None or of_fold is None:
            grades = None
            continue
        grades |= {grade: grades.get(grade, 0) + count for grade, count in of_fold.items()}
    return {
        "rows": sum(each["rows"] for each in found.values()),
        "grades": grades,
        "notes": [f"fold {fold}: {note}" for fold, each in found.items() for note in each["notes"]],
        "folds": dict(found),
    }


def size_text(quality: dict[str, Any]) -> str:
    """Return `120,000 rows, 1,192 users`, or requests."""
    counted = [format_count(quality["rows"], "row")]
    counted += [format_count(quality["users"], unit_name(quality))] if "users" in quality else []
    return ", ".join(counted)


def unit_name(quality: Mapping[str, Any]) -> str:
    """Return what is counted as `users` in a table: users, or requests."""
    return "request" if "unit" in quality else "user"


def count_rows(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    ranked: ListStatistics | None = None,
) -> ListStatistics:
    """Count the rows of the table `source`; counts of ranking are taken over from `ranked`."""
    per_user = "SELECT count(*) AS n FROM source GROUP BY user"
    lengths = connection.execute(f"SELECT n, count(*) FROM ({per_user}) GROUP BY n").fetchall()
    rows, n_items = only_row(connection, "SELECT count(*), count(DISTINCT item) FROM source")
    grades, n_infinite = [(1.0, rows)], 0
    if "grade" in source.columns:
        grades = connection.execute("SELECT grade, count(*) FROM source GROUP BY grade").fetchall()
    if "score" in source.columns:
        (n_infinite,) = only_row(connection, "SELECT count(*) FILTER (isinf(score)) FROM source")
    return replace(
        ranked or ListStatistics(),
        rows=rows,
        lengths=Counter(dict(lengths)),
        n_items=n_items,
        n_infinite=n_infinite,
        grades=Counter(dict(grades)),
    )


def describe_truth(
    source: Source, statistics: ListStatistics, changes: PolicyChanges
) -> dict[str, Any]:
    """Return the quality file of ground truth, and what policies changed in it."""
    grades = sorted(statistics.grades.items())
    notes = []
    if "grade" not in source.columns:
        notes = [
            f"there is no column {source.file.original_name('grade')!r}: every row has grade 1"
        ]
    if len(grades) > SHOWN:
        notes = [format_count(len(grades), "different grade")]
    counted = {repr(grade).removesuffix(".0"): count for grade, count in grades}
    return {
        **describe_ids(source, statistics.n_users, statistics.n_items),
        "grades": counted if len(grades) <= SHOWN else None,
        "notes": [*source.notes, *notes, *policy_notes(changes)],
        **changes,
    }


def describe_lists(
    source: Source,
    statistics: ListStatistics,
    conventions: Conventions,
    changes: PolicyChanges,
) -> dict[str, Any]:
    """Return the quality file of recommendations, and which policy was applied to what."""
    lengths = map(_plain, statistics.length_summary)
    content = describe_ids(source, statistics.n_users, statistics.n_items) | {
        "order": statistics.order,
        "list_length": dict(zip(("min", "median", "max"), lengths, strict=True)),
        "has_scores": "score" in source.columns,
        "ties": vars(statistics.ties) | {"policy": conventions.ties},
        "duplicates": vars(statistics.duplicates) | {"policy": conventions.duplicates},
        "rank_score_disagreements": {"users": statistics.disagreements.users},
        "infinite_scores": statistics.n_infinite,
        **changes,
    }
    notes = [*source.notes, *_notes(content), *policy_notes(changes)]
    return content | {"notes": notes}


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _notes(content: dict[str, Any]) -> Iterator[str]:
    """Yield what a reader of the report should know."""
    ties, repeated = content["ties"], content["duplicates"]
    disagreeing = content["rank_score_disagreements"]["users"]
    if ties["rows"]:
        yield f"{_of_users(ties)} tie with another of the same list; `ties: {ties['policy']}` ordered them"
    if repeated["rows"]:
        policy = repeated["policy"]
        yield f"{_of_users(repeated)} repeat an item of the same list; `duplicates: {policy}` was applied"
    if disagreeing:
        users = format_count(disagreeing, "user")
        yield f"ranks and scores disagree in the lists of {users}; the ranks decided"
    if content["infinite_scores"]:
        yield f"{format_count(content['infinite_scores'], 'infinite score')}"
    if not content["rows"]:
        yield "the file holds no list; `input.empty_lists: keep` let it pass"


def _of_users(count: dict[str, Any]) -> str:
    return f"{format_count(count['rows'], 'row')} of {format_count(count['users'], 'user')}"
