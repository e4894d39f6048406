"""Quality files: counts and hashes of a table, and notes on what was read differently."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.hashes import ContentHashes, hash_content
from concord.metrics_core.data.input_table import InputTable, words_of_table
from concord.metrics_core.data.list_batches import ListStatistics, length_summary
from concord.metrics_core.data.policies import PolicyChanges, policy_notes
from concord.metrics_core.data.read_source import Source
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.unit_detection import split_filter
from concord.metrics_core.errors import format_count

MAX_COUNTED_GRADES = 20  # distinct grades whose rows are counted


def describe(connection: duckdb.DuckDBPyConnection, source: Source) -> dict[str, Any]:
    """Return the description of a table with users and items: file, hashes, counts."""
    query = "SELECT count(DISTINCT user), count(DISTINCT item) FROM source"
    return describe_ids(source, *only_row(connection, query))


def describe_ids(source: Source, users: int, items: int) -> dict[str, Any]:
    """Return the same as `describe`, from known numbers of users and items."""
    return describe_table(source) | {
        "users": users,
        "items": items,
        "user_type": "text" if source.is_text("user") else "integer",
        "item_type": "text" if source.is_text("item") else "integer",
        **({"unit": ["user", *source.file.unit.values()]} if source.file.unit else {}),
    }


def describe_table(source: Source) -> dict[str, Any]:
    """Return the description of any table: rows, notes, and the hashes and size of a file."""
    file = source.file
    hashes = hash_content(file.path) if file.rows is None and file.is_hashed else ContentHashes()
    notes = source_notes(source)
    return {
        "path": file.path.as_posix(),
        "format": file.format,
        **hashes.of_rows(file.where).to_dict(),
        **({"where": dict(file.where)} if file.where else {}),
        "reading": file.reading,
        "rows": source.rows,
        **({"notes": notes} if notes else {}),
        **({"ids_rewritten": rewritten_ids(source)} if source.rewritten else {}),
    }


def without_reading(quality: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of a table, or of folds, without how its columns are read."""
    folds = {fold: without_reading(each) for fold, each in quality.get("folds", {}).items()}
    kept = {name: value for name, value in quality.items() if name != "reading"}
    return {**kept, **({"folds": folds} if folds else {})}


def source_notes(source: Source) -> list[str]:
    """Return text about the rows that a filter keeps, and about what was read differently."""
    rows, where = source.raw.filter, source.file.where
    if not where:
        return [*source.notes]
    condition = " and ".join(f"{name!r} is {value!r}" for name, value in where.items())
    kept = f"{rows.n_kept:,} of {format_count(rows.n_given, 'row')}: those where {condition}"
    return [kept, *source.notes]


def rewritten_ids(source: Source) -> dict[str, dict[str, Any]]:
    """Return for each column the number of rows whose id was read without `.0`, and an example."""
    return {ids.column: {"rows": ids.rows, "example": ids.example} for ids in source.rewritten}


def describe_folds(folds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the quality of ground truth with folds: totals of rows and grades, and each fold."""
    counts = [quality["grades"] for quality in folds.values()]
    start: Counter[str] = Counter()
    grades = None if None in counts else dict(sum(map(Counter, counts), start))
    return {
        "rows": sum(quality["rows"] for quality in folds.values()),
        "grades": grades,
        "notes": [f"fold {fold}: {note}" for fold, q in folds.items() for note in q["notes"]],
        "folds": dict(folds),
    }


def size_text(quality: dict[str, Any]) -> str:
    """Return text such as `120,000 rows, 1,192 users`."""
    counts = [format_count(quality["rows"], "row")]
    if "users" in quality:
        counts.append(format_count(quality["users"], "request" if "unit" in quality else "user"))
    return ", ".join(counts)


def count_rows(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    ranked: ListStatistics | None = None,
) -> ListStatistics:
    """Count the rows of the table `source`; the counts of ranking come from `ranked`."""
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
    source: Source,
    statistics: ListStatistics,
    changes: PolicyChanges,
    additional: Sequence[InputTable] = (),
) -> dict[str, Any]:
    """Return the quality file of ground truth, with the changes of policies.

    The hashes are those of all files, if there are additional ones.
    """
    grades = sorted(each for each in statistics.grades.items() if each[0] >= 0)  # not only pooled
    notes = []
    if "grade" not in source.columns:
        notes = [
            f"there is no column {source.file.original_name('grade')!r}: every row has grade 1"
        ]
    if len(grades) > MAX_COUNTED_GRADES:
        notes = [format_count(len(grades), "different grade")]
    for file in additional:
        notes.append(f"with the judgements of {file.name}")
    n_empty = source.raw.n_empty
    if n_empty:
        notes.append(f"{format_count(n_empty, 'empty list')}; users without a row are left out")
    counts = {repr(grade).removesuffix(".0"): count for grade, count in grades}
    words, splits = words_of_table(source.file), split_filter(source)
    others = [{"path": each.path.as_posix(), "format": each.format} for each in additional]
    return {
        **describe_ids(source, statistics.n_users, statistics.n_items),
        **({"reading": source.file.reading | {"additional": others}} if others else {}),
        **_common_hashes([source.file, *additional]),
        "grades": counts if len(grades) <= MAX_COUNTED_GRADES else None,
        "notes": [*source_notes(source), *notes, *policy_notes(changes)],
        **({"words": words} if words else {}),
        **({"several_splits": dict([splits])} if splits else {}),
        **({"empty_lists": n_empty} if n_empty else {}),
        **changes,
    }


def _common_hashes(files: Sequence[InputTable]) -> dict[str, str]:
    """Return the hashes of several files as of one; empty for one file or tables in memory."""
    if len(files) == 1 or any(file.rows is not None or not file.is_hashed for file in files):
        return {}
    text = json.dumps([hash_content(file.path).to_dict() for file in files])
    md5 = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "md5": md5}


def describe_lists(
    source: Source,
    statistics: ListStatistics,
    conventions: Conventions,
    changes: PolicyChanges,
) -> dict[str, Any]:
    """Return the quality file of recommendations, with the changes of policies."""
    if conventions.exclude:
        excluded = vars(statistics.excluded) | {"policy": str(conventions.exclude)}
        changes = {**changes, "excluded": excluded}
    lengths = (int(n) if n == int(n) else n for n in length_summary(statistics.lengths))
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
    notes = [*source_notes(source), *_list_notes(content), *policy_notes(changes)]
    return content | {"notes": notes}


def _list_notes(content: dict[str, Any]) -> Iterator[str]:
    """Yield notes on recommendations for readers of the report."""
    ties, duplicates = content["ties"], content["duplicates"]
    n_disagreeing = content["rank_score_disagreements"]["users"]
    if ties["rows"]:
        how = "averages over their orders" if ties["policy"] == "average" else "ordered them"
        tied = f"{_rows_text(ties)} tie with another of the same list"
        yield f"{tied}; `ties: {ties['policy']}` {how}"
    if duplicates["rows"]:
        yield (
            f"{_rows_text(duplicates)} repeat an item of the same list; "
            f"`duplicates: {duplicates['policy']}` was applied"
        )
    if n_disagreeing:
        users = format_count(n_disagreeing, "user")
        yield f"ranks and scores disagree in the lists of {users}; the ranks decided"
    if content["infinite_scores"]:
        yield format_count(content["infinite_scores"], "infinite score")
    if not content["rows"]:
        yield "the file has no lists, which `input.empty_lists: keep` allows"


def _rows_text(count: dict[str, Any]) -> str:
    return f"{format_count(count['rows'], 'row')} of {format_count(count['users'], 'user')}"
