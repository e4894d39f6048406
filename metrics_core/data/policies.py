"""Policies of `input`: how unusual values of tables are handled. They apply to checked values."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.data_conventions import ExcludedPairs
from concord.metrics_core.data.read_source import Source
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.units import user_sql
from concord.metrics_core.errors import Problem, format_count, raise_problems, refuse


@dataclass(frozen=True)
class Policies:
    """How unusual values of tables are handled; `error` raises."""

    rank_base: Literal[0, 1] = 1
    empty_lists: Literal["error", "keep"] = "error"
    nan_score: Literal["error", "last"] = "error"
    negative_grade: Literal["error", "zero", "unjudged", "pooled"] = "error"
    repeated_grade: Literal["error", "first", "highest"] = "error"
    unknown_items: Literal["error", "keep"] = "error"


PolicyChanges = dict[str, dict[str, Any]]  # name of a policy -> rows, users, policy

_IS_NAN = "isnan(score)"
_DELETE = "DELETE FROM source"
_IS_NEGATIVE = "grade < 0"
_IS_DUPLICATE = """position IN (
    SELECT position FROM (
        SELECT position, row_number() OVER (PARTITION BY {judged} ORDER BY {order}) AS copy
        FROM source)
    WHERE copy > 1)"""
_ORDER = {"first": "position", "highest": "grade DESC, position"}
_NOTES = {
    "nan_score": "NaN as score; `input.nan_score: {policy}` was applied",
    "negative_grade": "a negative grade; `input.negative_grade: {policy}` was applied",
    "repeated_grade": "another judgement of an item for the same user; "
    "`input.repeated_grade: {policy}` was applied",
    "excluded": "the item does not count for the user; `exclude: {policy}` left it out",
}


def excluded_sql(connection: DuckDBPyConnection, source: Source, exclude: str) -> str:
    """Return SQL that is true for an item that does not count for its user.

    Raises
    ------
    InputError
        If `exclude` is the text of pairs without the pairs, as in a stored result.
    """
    user = user_sql("user") if source.file.unit else "CAST(user AS VARCHAR)"
    if exclude == "same_id":
        return f"{user} = CAST(item AS VARCHAR)"
    if not isinstance(exclude, ExcludedPairs):
        problem = f"{exclude!r} is a stored hash without the pairs"
        raise refuse("conventions.exclude", problem, "set it to concord.data.excluded_pairs(table)")
    connection.register("excluded_pairs", exclude.pairs)
    return f"({user}, CAST(item AS VARCHAR)) IN (FROM excluded_pairs)"


def apply_list_policies(
    connection: DuckDBPyConnection, source: Source, policies: Policies
) -> PolicyChanges:
    """Count the NaN scores, if `input.nan_score: last` ranks them below all others."""
    if "score" not in source.columns or policies.nan_score == "error":
        return {}
    return _apply(connection, "nan_score", policies.nan_score, None, _IS_NAN)


def apply_truth_policies(
    connection: DuckDBPyConnection, source: Source, policies: Policies, exclude: str | None = None
) -> PolicyChanges:
    """Apply `input.negative_grade`, `input.repeated_grade` and the convention `exclude`."""
    has_grade = "grade" in source.columns
    changes: PolicyChanges = {}
    if has_grade and policies.negative_grade != "error":
        policy = policies.negative_grade
        statements = {"zero": "UPDATE source SET grade = 0", "unjudged": _DELETE}
        statement = statements.get(policy)  # pooled: the rows stay, for metrics that read them
        changes |= _apply(connection, "negative_grade", policy, statement, _IS_NEGATIVE)
    if policies.repeated_grade != "error":
        choice = policies.repeated_grade
        order = _ORDER[choice if has_grade else "first"]
        is_duplicate = _IS_DUPLICATE.format(judged=", ".join(source.judged), order=order)
        changes |= _apply(connection, "repeated_grade", choice, _DELETE, is_duplicate)
    if exclude:
        is_excluded = excluded_sql(connection, source, exclude)
        changes |= _apply(connection, "excluded", str(exclude), _DELETE, is_excluded)
    return changes


def no_policy_changes(source: Source, policies: Policies) -> PolicyChanges:
    """Return the result of `apply_truth_policies` if no grade is negative or duplicate."""
    names = ["negative_grade"] if "grade" in source.columns else []
    return {
        name: {"rows": 0, "users": 0, "policy": policy}
        for name in [*names, "repeated_grade"]
        if (policy := getattr(policies, name)) != "error"
    }


def policy_notes(changes: PolicyChanges) -> list[str]:
    """Return a text for each policy that changed rows."""
    return [
        f"{format_count(change['rows'], 'row')} of {format_count(change['users'], 'user')}: "
        f"{_NOTES[name].format(**change)}"
        for name, change in changes.items()
        if change["rows"] or change["policy"].startswith("pairs")
    ]


def _apply(
    connection: DuckDBPyConnection, name: str, policy: str, statement: str | None, condition: str
) -> PolicyChanges:
    query = f"SELECT count(*), count(DISTINCT user) FROM source WHERE {condition}"
    rows, users = only_row(connection, query)
    if rows and statement:
        connection.execute(f"{statement} WHERE {condition}")
    return {name: {"rows": rows, "users": users, "policy": policy}}


def parse_policies(values: Any) -> Policies:
    """Return the policies; the default is `error`, and 1 for `rank_base`.

    Raises
    ------
    InputError
        If a policy or its value is unknown.
    """
    if not isinstance(values, Mapping):
        raise refuse("input", f"{values!r} is not a dict", "write it as {'negative_grade': 'zero'}")
    options = {field.name: get_args(field.type) for field in fields(Policies)}
    raise_problems(
        Problem(
            f"input: {name}",
            f"{value!r} is not a policy" if name in options else "is not a policy",
            f"choose {' | '.join(map(repr, options.get(name, options)))}",
        )
        for name, value in values.items()
        if name not in options or value not in options[name]
    )
    return Policies(**values)
