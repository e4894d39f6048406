"""Apply the policies of `input` to the table `source`, once its values are checked, and count the changes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.source import Source
from concord.metrics_core.errors import Problem, format_count, raise_problems, refuse


@dataclass(frozen=True)
class Policies:
    """How unusual values of tables are handled; `error` raises."""

    rank_base: Literal[0, 1] = 1
    empty_lists: Literal["error", "keep"] = "error"
    nan_score: Literal["error", "last"] = "error"
    negative_grade: Literal["error", "zero", "unjudged"] = "error"
    repeated_grade: Literal["error", "first", "highest"] = "error"
    unknown_items: Literal["error", "keep"] = "error"


PolicyChanges = dict[str, dict[str, Any]]  # what was found -> rows, users, policy

_NAN = "isnan(score)"
_NEGATIVE = "grade < 0"
_REPEATED = """position IN (
    SELECT position FROM (SELECT position, row_number() OVER (PARTITION BY user, item ORDER BY {first}) AS copy
                          FROM source) WHERE copy > 1)"""
_ORDER = {"first": "position", "highest": "grade DESC, position"}
_WORDS = {
    "nan_score": "NaN as score",
    "negative_grade": "a negative grade",
    "repeated_grade": "an item that is judged for the same user before",
}


def apply_list_policies(
    connection: DuckDBPyConnection, source: Source, policies: Policies
) -> PolicyChanges:
    """Count the NaN scores, if `input.nan_score: last` ranks them below all others."""
    if "score" not in source.columns or policies.nan_score == "error":
        return {}
    return _applied(connection, "nan_score", policies.nan_score, None, _NAN)


def apply_truth_policies(
    connection: DuckDBPyConnection, source: Source, policies: Policies
) -> PolicyChanges:
    """Apply `input.negative_grade` and `input.repeated_grade`."""
    graded = "grade" in source.columns
    changed: PolicyChanges = {}
    if graded and policies.negative_grade != "error":
        zero = policies.negative_grade == "zero"
        change = "UPDATE source SET grade = 0" if zero else "DELETE FROM source"
        changed |= _applied(
            connection, "negative_grade", policies.negative_grade, change, _NEGATIVE
        )
    if policies.repeated_grade != "error":
        policy = policies.repeated_grade
        later = _REPEATED.format(first=_ORDER[policy if graded else "first"])
        changed |= _applied(connection, "repeated_grade", policy, "DELETE FROM source", later)
    return changed


def no_policy_changes(source: Source, policies: Policies) -> PolicyChanges:
    """Return what `apply_truth_policies` returns if no grade is negative and no item judged twice."""
    graded = "grade" in source.columns
    given = {
        "negative_grade": policies.negative_grade if graded else "error",
        "repeated_grade": policies.repeated_grade,
    }
    return {
        name: {"rows": 0, "users": 0, "policy": policy}
        for name, policy in given.items()
        if policy != "error"
    }


def policy_notes(changed: PolicyChanges) -> list[str]:
    """Return notes such as `3 rows of 2 users: a negative grade; `input.negative_grade: zero` was applied`."""
    return [
        f"{format_count(found['rows'], 'row')} of {format_count(found['users'], 'user')}: {_WORDS[name]}; "
        f"`input.{name}: {found['policy']}` was applied"
        for name, found in changed.items()
        if found["rows"]
    ]


def _applied(
    connection: DuckDBPyConnection, name: str, policy: str, change: str | None, wrong: str
) -> PolicyChanges:
    rows, users = only_row(
        connection, f"SELECT count(*), count(DISTINCT user) FROM source WHERE {wrong}"
    )
    if rows and change:
        connection.execute(f"{change} WHERE {wrong}")
    return {name: {"rows": rows, "users": users, "policy": policy}}


def parse_policies(given: Any) -> Policies:
    """Return the policies; those that are not given are `error`.

    Raises
    ------
    InputError : there is no such policy, or it has no such value
    """
    if not isinstance(given, Mapping):
        raise refuse("input", f"{given!r} is not a dict", "write it as {'negative_grade': 'zero'}")
    kinds = {field.name: get_args(field.type) for field in fields(Policies)}
    problems = [
        Problem(
            f"input: {name}",
            f"{value!r} is not a policy" if name in kinds else "is not a policy",
            f"choose {' | '.join(map(repr, kinds.get(name, kinds)))}",
        )
        for name, value in given.items()
        if name not in kinds or value not in kinds[name]
    ]
    raise_problems(problems)
    return Policies(**given)
