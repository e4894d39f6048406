"""Choices for a comparison whose metrics are not named; `concord init` makes the same ones."""

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from concord.metrics_core.conventions.metric_conventions import MAX_GRADE
from concord.metrics_core.data.arguments import Columns, open_table, split_truth
from concord.metrics_core.data.column_names import is_search_name
from concord.metrics_core.data.formats import UNNAMED
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.read_source import column_names, read_source
from concord.metrics_core.data.relations import in_memory, only_row
from concord.metrics_core.data.unit_detection import are_session_names, possible_units
from concord.metrics_core.errors import InputError
from concord.metrics_core.evaluation.warnings.data import STAR_MAXIMA, least_liked
from concord.metrics_core.metrics.label import expand

METRICS = ("nDCG", "AP", "RR", "P", "R", "Hit")
MIN_EFFECT = "2%"
CUTOFFS = (5, 10, 20, 50, 100)
SEARCH_CUTOFFS = (10, 100)
# Names of grades on a scale of stars, whose low values are no recommendation; others are counts.
RATINGS = ("rating", "ratings", "stars")


def choose_cutoffs(lengths: Sequence[int | None], *, is_search: bool) -> list[int]:
    """Return the usual cutoffs up to the longest list of the model with the shortest lists.

    Search has 10 at least, also for shorter lists; else the least is 1.
    """
    cutoffs, unknown = (SEARCH_CUTOFFS, 100) if is_search else (CUTOFFS, 20)
    longest = min((length for length in lengths if length), default=unknown)
    return [k for k in cutoffs if k <= longest] or [cutoffs[0] if is_search else 1]


def main_cutoff(ks: Sequence[int]) -> int:
    """Return the cutoff of the metric that decides."""
    return 10 if 10 in ks else ks[-1]  # noqa: PLR2004


def choose_metrics(ks: Sequence[int], side_data: Collection[str]) -> list[str]:
    """Return the usual metrics, and those that the catalogue and train allow."""
    k = main_cutoff(ks)
    of_tables = {"items": f"Coverage@{k}", "train": f"Novelty@{k}"}
    return [*METRICS, *(metric for name, metric in of_tables.items() if name in side_data)]


def choose_threshold(grade: str, highest: float | None) -> tuple[int, int]:
    """Return the lowest grade that counts as relevant, and the highest of the scale.

    `grade` is the name of the column, `highest` its greatest value.
    """
    scale = 1 if highest is None else max(1, min(MAX_GRADE, math.ceil(highest)))
    min_stars, max_stars = STAR_MAXIMA
    is_rating = grade.casefold() in RATINGS and min_stars <= scale <= max_stars
    return (least_liked(scale) if is_rating else 1), scale


def shared_unit(lists: Sequence[InputTable], truth: InputTable) -> tuple[str, ...]:
    """Return the columns that identify a list of a user in all tables; empty if users have one."""
    tables = [truth, *lists]
    names = [{*column_names(table)}.difference(_read_names(table)) for table in tables]
    shared = [name for name in column_names(truth) if all(name in each for each in names)]
    if not shared:
        return ()
    with in_memory() as connection:
        units = [[*possible_units(connection, table, shared)] for table in lists]
    common = [unit for unit in units[0] if all(unit in others for others in units)]
    if () in common:  # ranks prove that a user has one list; scores do not
        is_ranked = any(table.original_name("rank") in column_names(table) for table in lists)
        common = [] if is_ranked else [unit for unit in common if unit and are_session_names(unit)]
    return next(iter(common), ())


def _read_names(table: InputTable) -> set[str]:
    """Return the original names of the columns that a table may have."""
    own = {table.original_name(name) for name in (*table.required, *table.optional)}
    return own | {*table.columns.values()}


@dataclass(frozen=True)
class Choices:
    """What a comparison uses if its metrics are not named."""

    metrics: list[str]
    primary: list[str]
    conventions: dict[str, Any]
    unit: Sequence[str]


def choose(
    lists: Mapping[str, Any],
    truth: Any,
    columns: Columns,
    where: Mapping[str, Mapping[str, Any]],
    *,
    unit: Sequence[str],
    side_data: Collection[str],
) -> Choices:
    """Return the choices for tables in files or in memory.

    `unit` is the requested one, empty to find it; `side_data` names the other tables.

    A table that cannot be read has no influence: its evaluation names the problem.
    """
    judgements = _table("truth", split_truth(truth)[0], columns, where, role="truth")
    tables = [_table(name, each, columns, where, role="recs") for name, each in lists.items()]
    with suppress(InputError):
        unit = [*unit] or ["user", *shared_unit(tables, judgements)]
    unit = unit if len(unit) > 1 else []
    lengths = [longest_list(table.with_unit(unit)) for table in tables]
    highest, names = _read_value(judgements, _HIGHEST)
    is_search = judgements.format in UNNAMED or is_search_name("user", names["user"])
    ks = choose_cutoffs(lengths, is_search=is_search)
    threshold, scale = choose_threshold(names["grade"], highest)
    return Choices(
        metrics=[str(label) for label in expand(choose_metrics(ks, side_data), ks)],
        primary=[f"nDCG@{main_cutoff(ks)}"],
        conventions={
            "preset": "standard",
            "relevance_threshold": threshold,
            "err_max_grade": scale,
            **({"unit_mean": "requests"} if unit else {}),
        },
        unit=unit,
    )


_HIGHEST = "SELECT max(grade) FROM source WHERE isfinite(grade)"
_LONGEST = "SELECT max(n) FROM (SELECT count(*) AS n FROM source GROUP BY user)"


def longest_list(table: InputTable) -> int | None:
    """Return the length of the longest list; None if the table cannot be read."""
    length: int | None = _read_value(table, _LONGEST)[0]
    return length


def highest_grade(table: InputTable) -> float | None:
    """Return the highest finite grade; None if the table has none or cannot be read."""
    highest: float | None = _read_value(table, _HIGHEST)[0]
    return highest


def _table(
    name: str,
    data: Any,
    columns: Columns,
    where: Mapping[str, Mapping[str, Any]],
    *,
    role: str,
) -> InputTable:
    table = open_table(name, data, columns, role=role)
    return replace(table, where=where.get(name, table.where))


def _read_value(table: InputTable, query: str) -> tuple[Any, dict[str, str]]:
    """Return the value of a query of the table `source`, and the names of user and grade.

    The value is None if the table cannot be read, or has no such column.
    """
    names = {name: table.original_name(name) for name in ("user", "grade")}
    try:
        with in_memory() as connection:
            source = read_source(connection, table)
            names |= {name: source.raw.aliases.get(name, names[name]) for name in names}
            return only_row(connection, query)[0], names
    except (InputError, duckdb.Error):
        return None, names
