"""What a file was found to hold: the quality file of a model, and its part that every input shares."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.hashes import ContentHashes, hash_content
from concord.metrics_core.data.load_lists import RankedLists, unit_hint
from concord.metrics_core.data.policies import (
    Policies,
    PolicyChanges,
    no_policy_changes,
    policy_notes,
)
from concord.metrics_core.data.ranking import RankingResult
from concord.metrics_core.data.row_checks import only_row
from concord.metrics_core.data.sorted_reader import ListStatistics
from concord.metrics_core.data.source import Source
from concord.metrics_core.errors import in_words

SHOWN = 20  # distinct grades that are counted one by one


def describe(connection: duckdb.DuckDBPyConnection, source: Source) -> dict[str, Any]:
    """What is known of any input: the file, its hashes, its size."""
    (users,) = only_row(connection, "SELECT count(DISTINCT user) FROM source")
    (items,) = only_row(connection, "SELECT count(DISTINCT item) FROM source")
    return describe_ids(source, users, items)


def describe_ids(source: Source, users: int, items: int) -> dict[str, Any]:
    """As `describe`, where users and items are counted."""
    return describe_table(source) | {
        "users": users,
        "items": items,
        "user_type": "text" if source.is_text("user") else "integer",
        "item_type": "text" if source.is_text("item") else "integer",
        **({"unit": list(source.file.requests)} if source.file.unit else {}),
    }


def describe_table(source: Source) -> dict[str, Any]:
    """What is known of any table: its hashes and size where it is a file, and what was read otherwise than it is written."""
    file = source.file
    known = hash_content(file.path) if file.held is None else ContentHashes()
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
    """What is known of a truth that has folds: rows and grades of all together, and all that is known of each."""
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
    """`120,000 rows, 1,192 users`, or requests."""
    counted = [in_words(quality["rows"], "row")]
    counted += [in_words(quality["users"], unit_name(quality))] if "users" in quality else []
    return ", ".join(counted)


def unit_name(quality: Mapping[str, Any]) -> str:
    """What is counted as `users` in a table: users, or requests."""
    return "request" if "unit" in quality else "user"


def describe_lists(
    connection: duckdb.DuckDBPyConnection,
    found: RankedLists,
    pinned: Conventions,
) -> dict[str, Any]:
    """What is known of lists, and which policy was applied to what."""
    source, ranked = found.source, found.ranked
    several = unit_hint(connection, source) if ranked.duplicates.rows else ""
    described = _of_lists(
        source,
        ranked,
        pinned,
        known=describe(connection, source),
        lengths=_lengths(connection),
        infinite=_infinite_scores(connection, source),
        changed=found.changed,
    )
    if several:
        described["notes"].append(f"users may have several lists: {several}")
    return described


def describe_passed(source: Source, passed: ListStatistics, pinned: Conventions) -> dict[str, Any]:
    """As `describe_lists`, of lists that were in order."""
    return _of_lists(
        source,
        passed,
        pinned,
        known=describe_ids(source, passed.users, passed.n_items),
        lengths=passed.length,
        infinite=passed.infinite,
        changed={},
    )


def describe_truth(
    connection: duckdb.DuckDBPyConnection, source: Source, changed: PolicyChanges
) -> dict[str, Any]:
    """What is known of the truth in the table `source`, and what policies changed in it."""
    (rows,) = only_row(connection, "SELECT count(*) FROM source")
    grades = [(1.0, rows)]
    if "grade" in source.columns:
        query = "SELECT grade, count(*) FROM source GROUP BY grade ORDER BY grade"
        grades = connection.execute(query).fetchall()
    return _of_truth(source, describe(connection, source), grades, changed)


def describe_passed_truth(
    source: Source, passed: ListStatistics, policies: Policies
) -> dict[str, Any]:
    """As `describe_truth`, of a truth that was in order."""
    known = describe_ids(source, passed.users, passed.n_items)
    grades = sorted(passed.grades.items()) if "grade" in source.columns else [(1.0, passed.rows)]
    return _of_truth(source, known, grades, no_policy_changes(source, policies))


def _of_truth(
    source: Source,
    known: dict[str, Any],
    grades: Sequence[tuple[float, int]],
    changed: PolicyChanges,
) -> dict[str, Any]:
    notes = []
    if "grade" not in source.columns:
        notes = [f"there is no column {source.file.theirs('grade')!r}: every row has grade 1"]
    if len(grades) > SHOWN:
        notes = [in_words(len(grades), "different grade")]
    counted = {repr(grade).removesuffix(".0"): count for grade, count in grades}
    return {
        **known,
        "grades": counted if len(grades) <= SHOWN else None,
        "notes": [*source.notes, *notes, *policy_notes(changed)],
        **changed,
    }


def _of_lists(
    source: Source,
    ranked: RankingResult | ListStatistics,
    pinned: Conventions,
    *,
    known: dict[str, Any],
    lengths: Sequence[float],
    infinite: int,
    changed: PolicyChanges,
) -> dict[str, Any]:
    content = known | {
        "order": ranked.order,
        "list_length": dict(zip(("min", "median", "max"), map(_plain, lengths), strict=True)),
        "has_scores": "score" in source.columns,
        "ties": vars(ranked.ties) | {"policy": pinned.ties},
        "duplicates": vars(ranked.duplicates) | {"policy": pinned.duplicates},
        "rank_score_disagreements": {"users": ranked.disagreements.users},
        "infinite_scores": infinite,
        **changed,
    }
    notes = [*source.notes, *_notes(content), *policy_notes(changed)]
    return content | {"notes": notes}


def _lengths(connection: duckdb.DuckDBPyConnection) -> list[float]:
    per_user = "SELECT count(*) AS n FROM source GROUP BY user"
    found = only_row(connection, f"SELECT min(n), median(n), max(n) FROM ({per_user})")
    return [number or 0 for number in found]


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _infinite_scores(connection: duckdb.DuckDBPyConnection, source: Source) -> int:
    if "score" not in source.columns:
        return 0
    (count,) = only_row(connection, "SELECT count(*) FILTER (isinf(score)) FROM source")
    return int(count)


def _notes(content: dict[str, Any]) -> Iterator[str]:
    """What a reader of the report should know, in words."""
    ties, repeated = content["ties"], content["duplicates"]
    disagreeing = content["rank_score_disagreements"]["users"]
    if ties["rows"]:
        yield f"{_of_users(ties)} tie with another of the same list; `ties: {ties['policy']}` ordered them"
    if repeated["rows"]:
        policy = repeated["policy"]
        yield f"{_of_users(repeated)} repeat an item of the same list; `duplicates: {policy}` was applied"
    if disagreeing:
        users = in_words(disagreeing, "user")
        yield f"ranks and scores disagree in the lists of {users}; the ranks decided"
    if content["infinite_scores"]:
        yield f"{in_words(content['infinite_scores'], 'infinite score')}"
    if not content["rows"]:
        yield "the file holds no list; `input.empty_lists: keep` let it pass"


def _of_users(count: dict[str, Any]) -> str:
    return f"{in_words(count['rows'], 'row')} of {in_words(count['users'], 'user')}"
