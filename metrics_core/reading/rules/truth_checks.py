"""What no row of the truth may be."""

import duckdb

from concord.metrics_core.checking.problems import Affected, Problem, affecting
from concord.metrics_core.checking.row_checks import RowCheck, only_row, whose
from concord.metrics_core.reading.columns.readable import EXACT
from concord.metrics_core.reading.formats.source import Source
from concord.metrics_core.reading.rules.policies import Policies
from concord.metrics_core.reading.rules.value_checks import id_checks, number_checks

JUDGEMENT_REPEATS = (4,)  # the rule of `Affected`


def truth_checks(source: Source, policies: Policies) -> list[RowCheck]:
    checks = [check for column in source.ids for check in id_checks(source, column)]
    if "grade" in source.columns:
        fix = "write grades as numbers from 0; what is not relevant has grade 0, or no row"
        checks += number_checks(source, "grade", "is no number")
        checks.append(RowCheck("grade", "isinf(grade)", "is infinite", fix))
        high = f"isfinite(grade) AND grade > {EXACT}"
        what = "{value:g} lies beyond 2^53, where sums of grades lose digits"
        checks.append(RowCheck("grade", high, what, "write lower grades", shows="grade"))
        if policies.negative_grade == "error":
            fix += f"; or set {source.file.settings.input('negative_grade')} to zero or unjudged"
            checks.append(RowCheck("grade", "grade < 0", "{value} is negative", fix, shows="grade"))
    return [*checks, *time_checks(source), *_propensity_checks(source)]


def _propensity_checks(source: Source) -> list[RowCheck]:
    if "propensity" not in source.columns:
        return []
    fix = "write how probably the row came to be known, above 0 and up to 1"
    beyond = "propensity <= 0 OR propensity > 1 OR isinf(propensity)"
    return [
        *number_checks(source, "propensity", "is no number"),
        RowCheck("propensity", beyond, "is {value:g}", fix, shows="propensity"),
    ]


def time_checks(source: Source) -> list[RowCheck]:
    if "time" not in source.columns:
        return []
    return number_checks(source, "time", "is neither a number nor a time such as 2026-05-30 08:10")


def repeated_judgements(
    connection: duckdb.DuckDBPyConnection, source: Source, rows: str
) -> list[Problem]:
    groups = f"""
        SELECT user, item, count(*) - 1 AS later, list_sort(list(position))[:2] AS places
        FROM {rows} GROUP BY user, item HAVING count(*) > 1"""
    (count,) = only_row(connection, f"SELECT coalesce(sum(later), 0)::BIGINT FROM ({groups})")
    if not count:
        return []
    user, item, places = only_row(
        connection, f"SELECT user, item, places FROM ({groups}) ORDER BY places LIMIT 1"
    )
    stand = [source.raw.place(position) for position in places]
    said = "the item is judged more than once for the user"
    affected = Affected(JUDGEMENT_REPEATS, tuple(stand), rows=count, users=None, said=said)
    setting = source.file.settings.input("repeated_grade")
    fix = f"keep one row for each user and item, or set {setting} to first or highest"
    where = f"{source.file.name}: {' and '.join(stand)}{whose(user, item)}"
    return [affecting(where, fix, affected)]
