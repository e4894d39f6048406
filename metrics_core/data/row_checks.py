"""Checks of single rows, as a table: a condition in SQL that no row may meet. One pass over the rows for all of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from concord.metrics_core.errors import Affected, Problem, affecting

if TYPE_CHECKING:
    import duckdb

RowName = Callable[[int], str]  # where the row at a position stands, in words


class ListsError(ValueError):
    """Lists that cannot be ranked; `problems` holds all problems."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(map(str, self.problems)))


@dataclass(frozen=True)
class RowCheck:
    """Check of single rows: `wrong` is SQL that no row may meet; `what` may show the value of `shows` as {value}.

    per_value : `wrong` depends on nothing but the column, and costs more than finding the distinct values
    """

    column: str
    wrong: str
    what: str
    fix: str
    shows: str = "NULL"
    per_value: bool = False


ID_CHECKS = tuple(
    RowCheck(column, f"{column} IS NULL", "is missing", "give every row an id, or drop the row")
    for column in ("user", "item")
)
SCORE_CHECKS = (
    RowCheck("score", "score IS NULL", "is missing", "give every row a score, or drop the row"),
    RowCheck(
        "score",
        "isnan(CAST(score AS DOUBLE))",
        "is NaN",
        "correct the scores where the table is made, or drop the rows",
    ),
)
RANK_CHECKS = (
    RowCheck("rank", "rank IS NULL", "is missing", "give every row a rank, or drop the row"),
    RowCheck(
        "rank",
        "floor(CAST(rank AS DOUBLE)) <> rank OR NOT isfinite(CAST(rank AS DOUBLE))",
        "{value} is not a whole number",
        "write ranks as integers",
        shows="rank",
    ),
)


def row_number(position: int) -> str:
    """Return `row 1` for position 0."""
    return f"row {position + 1:,}"


def row_problems(
    connection: "duckdb.DuckDBPyConnection",
    source: str,
    checks: Sequence[RowCheck],
    *,
    place: RowName = row_number,
    names: Mapping[str, str] | None = None,
) -> list[Problem]:
    """Return one problem for each check that fails, at the first row that fails it.

    names : what the file calls a column, where that differs
    """
    numbers = {id(check): number for number, check in enumerate(checks)}
    checks = _relevant(connection, source, checks)
    if not checks:
        return []
    totals = ", ".join(
        f"count(*) FILTER (WHERE {check.wrong}), min(position) FILTER (WHERE {check.wrong})"
        for check in checks
    )
    found = only_row(connection, f"SELECT {totals} FROM {source}")
    problems = []
    for check, count, position in zip(checks, found[::2], found[1::2], strict=True):
        if count:
            query = f"SELECT user, item, {check.shows} FROM {source} WHERE position = $position"
            user, item, value = only_row(connection, query, {"position": position})
            name = (names or {}).get(check.column, check.column)
            where = f"{place(position)}, column {name!r}{ids_text(user, item)}"
            rule, said = (0, numbers[id(check)]), check.what.format(value=value)
            affected = Affected(rule, (place(position),), rows=count, users=None, said=said)
            problems.append(affecting(where, check.fix, affected))
    return problems


def _relevant(
    connection: "duckdb.DuckDBPyConnection", source: str, checks: Sequence[RowCheck]
) -> list[RowCheck]:
    """Return the checks without those that no distinct value fails."""
    kept = [check for check in checks if not check.per_value]
    for column in sorted({check.column for check in checks if check.per_value}):
        tried = [check for check in checks if check.per_value and check.column == column]
        fails = ", ".join(f"bool_or({check.wrong})" for check in tried)
        values = f"SELECT DISTINCT {column} FROM {source}"
        found = only_row(connection, f"SELECT {fails} FROM ({values})")
        kept += [check for check, occurs in zip(tried, found, strict=True) if occurs]
    return sorted(kept, key=checks.index)


def only_row(
    connection: "duckdb.DuckDBPyConnection", query: str, values: Mapping[str, Any] | None = None
) -> tuple[Any, ...]:
    """Return the only row of a query."""
    (row,) = connection.execute(query, dict(values or {})).fetchall()
    return tuple(row)


def ids_text(user: Any, item: Any) -> str:
    """Return ` (user 'u17', item 'i9')`, without missing ids."""
    known = [
        f"{name} {value!r}" for name, value in (("user", user), ("item", item)) if value is not None
    ]
    return f" ({', '.join(known)})" if known else ""
