"""Ids of sessions: several columns identify one, the user's first. Its id is their values with `/` between them.

A `/` or a backslash in a value has a backslash before it, so that ids are told apart, and the user is read back from one.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

USER = "user"
_NAMED = frozenset({"item", "rank", "score", "grade", "time", "position", "place"})  # columns of tables  # fmt: skip
FIRST = r"(?s)^((?:[^/\\]|\\.)*)/.*$"
_AFTER = r"(?s)^(?:[^/\\]|\\.)*/"
ESCAPED = r"(?s)\\(.)"


def unit_id(values: Sequence[Any]) -> str:
    r"""Return the id: `u1/s7` of u1 and s7; `a\/b/c` of a/b and c."""
    return "/".join(re.sub(r"([/\\])", r"\\\1", str(value)) for value in values)


def split_unit_id(unit: str) -> list[str]:
    """Return the values of an id."""
    return [re.sub(ESCAPED, r"\1", part) for part in re.findall(r"(?s)(?:[^/\\]|\\.)+", unit)]


def unit_sql(columns: Sequence[str]) -> str:
    """Return SQL of the id; NULL if a column is."""
    escaped = (
        f"replace(replace(CAST({name} AS VARCHAR), '\\', '\\\\'), '/', '\\/')" for name in columns
    )
    return " || '/' || ".join(escaped)


def user_sql(unit: str) -> str:
    """Return SQL of the user of a session, as text."""
    return f"regexp_replace(regexp_extract({unit}, '{FIRST}', 1), '{ESCAPED}', '\\1', 'g')"


def rest_sql(unit: str) -> str:
    """Return SQL of the id without the user."""
    return f"regexp_replace({unit}, '{_AFTER}', '')"


def users_of_units(units: "pl.Series") -> "pl.Series":
    """Return the user of each session, as text."""
    return units.str.extract(FIRST, 1).str.replace_all(ESCAPED, "$1")


def with_parts(table: "pl.DataFrame", unit: Sequence[str]) -> "pl.DataFrame":
    """Return the table with the unit's columns, as text, in place of the id in `user`."""
    import polars as pl  # a library that people wait for: only those who have requests do

    parts = [split_unit_id(each) for each in table[USER].to_list()]
    columns = [
        pl.Series(name, [part[place] for part in parts], dtype=pl.String)
        for place, name in enumerate(unit)
    ]
    return pl.DataFrame([*columns, *(column for column in table if column.name != USER)])


def unit_findings(unit: Any) -> Iterator[tuple[str, str]]:
    """Yield problems and fixes of the columns that identify a session."""
    fix = "name the user's column first, then those that tell a user's requests apart: [user, session]"
    texts = isinstance(unit, Sequence) and all(isinstance(name, str) and name for name in unit)
    if isinstance(unit, str) or not texts:
        yield f"{unit!r} is not a list of columns", fix
    elif len(unit) < 2 or unit[0] != USER:  # noqa: PLR2004 - the user and something else
        yield f"is [{', '.join(unit)}]", fix
    elif len(set(unit)) < len(unit):
        yield f"names a column twice: [{', '.join(unit)}]", "name each column once"
    elif taken := sorted(_NAMED.intersection(unit)):
        yield f"names {taken[0]!r}, which is something else in lists or truth", "give the column another name"  # fmt: skip


def mean_findings(unit: Sequence[str], unit_mean: str | None) -> Iterator[tuple[str, str]]:
    """Yield problems and fixes of the convention `unit_mean` for this unit."""
    if unit and unit_mean is None:
        yield "is missing, and the unit is a request", "add `unit_mean: requests`, or `users` where all users are to count alike"  # fmt: skip
    if unit_mean is not None and not unit:
        yield f"is {unit_mean}, and no unit is named", "name the unit, such as [user, session], or remove it"  # fmt: skip
