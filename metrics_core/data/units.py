"""Ids of sessions: the values of the columns that identify a session, joined by `/`.

The first column is the user. A backslash escapes `/` and backslash in a value, so that ids are
unique and can be split again.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import polars as pl

    Column = TypeVar("Column", pl.Series, pl.Expr)

USER = "user"
_RESERVED = frozenset({"item", "rank", "score", "grade", "time", "position", "place"})
USER_PATTERN = r"(?s)^((?:[^/\\]|\\.)*)/.*$"
_USER_PREFIX = r"(?s)^(?:[^/\\]|\\.)*/"
ESCAPE_PATTERN = r"(?s)\\(.)"


def unit_id(values: Sequence[Any]) -> str:
    r"""Return the id: `u1/s7` for u1 and s7; `a\/b/c` for a/b and c."""
    return "/".join(re.sub(r"([/\\])", r"\\\1", str(value)) for value in values)


def split_unit_id(unit: str) -> list[str]:
    """Return the values of an id."""
    parts = re.findall(r"(?s)(?:[^/\\]|\\.)+", unit)
    return [re.sub(ESCAPE_PATTERN, r"\1", part) for part in parts]


def unit_sql(columns: Sequence[str]) -> str:
    """Return SQL of the id; NULL if the value of a column is NULL."""
    escaped = (
        f"replace(replace(CAST({name} AS VARCHAR), '\\', '\\\\'), '/', '\\/')" for name in columns
    )
    return " || '/' || ".join(escaped)


def user_sql(unit: str) -> str:
    """Return SQL of the user of a session, as text."""
    escaped = f"regexp_extract({unit}, '{USER_PATTERN}', 1)"
    return f"regexp_replace({escaped}, '{ESCAPE_PATTERN}', '\\1', 'g')"


def session_sql(unit: str) -> str:
    """Return SQL of the id without the user."""
    return f"regexp_replace({unit}, '{_USER_PREFIX}', '')"


def users_of_units(units: "Column") -> "Column":
    """Return the user of each session, as text; for a series or an expression."""
    return units.str.extract(USER_PATTERN, 1).str.replace_all(ESCAPE_PATTERN, "$1")


def split_unit_column(table: "pl.DataFrame", unit: Sequence[str]) -> "pl.DataFrame":
    """Return the table with the unit's columns, as text, instead of the id in `user`."""
    import polars as pl  # takes long to import, and only sessions need it

    ids = [split_unit_id(unit_id) for unit_id in table[USER].to_list()]
    columns = [
        pl.Series(name, [values[index] for values in ids], dtype=pl.String)
        for index, name in enumerate(unit)
    ]
    return pl.DataFrame([*columns, *(column for column in table if column.name != USER)])


def unit_problems(unit: Any) -> Iterator[tuple[str, str]]:
    """Yield problems and fixes of the columns that identify a session."""
    fix = "name the user's column first, then the columns that identify a session: [user, session]"
    if (
        isinstance(unit, str)
        or not isinstance(unit, Sequence)
        or not all(isinstance(name, str) and name for name in unit)
    ):
        yield f"{unit!r} is not a list of columns", fix
    elif len(unit) < 2 or unit[0] != USER:  # noqa: PLR2004 - the user and another column
        yield f"is [{', '.join(unit)}]", fix
    elif len(set(unit)) < len(unit):
        yield f"names a column twice: [{', '.join(unit)}]", "name each column once"
    elif reserved := sorted(_RESERVED.intersection(unit)):
        message = f"names {reserved[0]!r}, which has another meaning in tables"
        yield message, "give the column another name"


def unit_mean_problems(unit: Sequence[str], unit_mean: str | None) -> Iterator[tuple[str, str]]:
    """Yield problems and fixes of the convention `unit_mean` for this unit."""
    if unit and unit_mean is None:
        fix = "add `unit_mean: requests`, or `users` to give all users the same weight"
        yield "is missing, and the unit is a request", fix
    if unit_mean is not None and not unit:
        fix = "name the unit, such as [user, session], or remove it"
        yield f"is {unit_mean}, and no unit is named", fix
