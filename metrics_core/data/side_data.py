"""Read and check ground truth, interactions and ids of users."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.data_conventions import ExcludedPairs
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.policies import Policies, PolicyChanges, apply_truth_policies
from concord.metrics_core.data.read_source import Progress, Source, no_progress, read_source
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.unit_detection import with_unit_hint
from concord.metrics_core.data.value_checks import (
    DROP_ROW,
    RowCheck,
    duplicate_judgements,
    id_checks,
    list_checks,
    time_checks,
    truth_checks,
    valid_rows,
    value_problems,
)
from concord.metrics_core.errors import InputError, raise_problems, refuse


def read_train(
    connection: DuckDBPyConnection,
    table: InputTable,
    *,
    may_be_empty: bool = False,
    progress: Progress = no_progress,
) -> Source:
    """Read and check interactions into the table `source`.

    Raises
    ------
    InputError
        Every problem of the table at once.
    """
    source = read_source(connection, table, may_be_empty=may_be_empty, progress=progress)
    checks = [*list_checks(source), *time_checks(source)]
    raise_problems(value_problems(connection, source, checks))
    return source


def read_excluded_pairs(connection: DuckDBPyConnection, table: InputTable) -> ExcludedPairs:
    """Read and check pairs of user and item; raises as `excluded_pairs`."""
    read_train(connection, table)
    pairs = """SELECT DISTINCT CAST(user AS VARCHAR) AS excluded_user,
        CAST(item AS VARCHAR) AS excluded_item FROM source ORDER BY ALL"""
    query = f"""
        SELECT sha256(string_agg(length(excluded_user) || ':' || excluded_user
            || length(excluded_item) || ':' || excluded_item, ''
            ORDER BY excluded_user, excluded_item))
        FROM ({pairs})"""
    (digest,) = only_row(connection, query)
    return ExcludedPairs(f"pairs {digest[:12]}", connection.sql(pairs).to_arrow_table())


def read_interactions(
    connection: DuckDBPyConnection, table: InputTable, *, progress: Progress = no_progress
) -> Source:
    """Read and check interactions with times and optional grades into the table `source`.

    Interactions may be duplicate.

    Raises
    ------
    InputError
        Every problem of the table at once.
    """
    source = read_source(connection, table, progress=progress)
    fix = f"give every row a time, or {DROP_ROW}"
    is_infinite = RowCheck("time", "isinf(time)", "is infinite", fix)
    checks = [*truth_checks(source, Policies(negative_grade="zero")), is_infinite]
    raise_problems(value_problems(connection, source, checks))
    return source


def read_users(connection: DuckDBPyConnection, table: InputTable) -> None:
    """Read and check ids of users, which may be duplicate, into the table `source`.

    Raises
    ------
    InputError
        If an id is missing or cannot be read.
    """
    source = read_source(connection, table, may_be_empty=True)
    connection.execute("ALTER TABLE source ADD COLUMN item VARCHAR")
    checks = [check for column in source.ids for check in id_checks(source, column)]
    raise_problems(value_problems(connection, source, checks))


def read_truth(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    *,
    may_be_empty: bool = False,
    is_part: bool = False,
    additional: Sequence[InputTable] = (),
    exclude: str | None = None,
    progress: Progress = no_progress,
) -> tuple[Source, PolicyChanges]:
    """Read and check ground truth into the table `source`; return the changes of policies.

    Parameters
    ----------
    is_part : bool
        True if there are other parts of the table, so that this one may have no rows left.
    additional : sequence of InputTable
        Tables with more judgements; their rows without a grade are left out.
    exclude : str, optional
        The convention `exclude`.

    Raises
    ------
    InputError
        Every problem of the table at once.
    """
    others = [_read_additional(connection, each, policies) for each in additional]
    source = read_source(connection, table, may_be_empty=may_be_empty or is_part, progress=progress)
    if table.is_additional and "grade" in source.columns:
        is_empty = " AND grade_invalid IS NULL" if "grade" in source.parsed else ""
        connection.execute(f"DELETE FROM source WHERE grade IS NULL{is_empty}")
    checks = truth_checks(source, policies)
    problems = value_problems(connection, source, checks)
    rows = valid_rows(checks) if problems else "source"
    if policies.repeated_grade == "error":
        problems += duplicate_judgements(connection, source, rows)
    if problems:
        raise InputError(problems if is_part else with_unit_hint(connection, source, problems))
    if table.is_additional:
        return source, {}  # policies apply to all tables together
    for other, rows_of_other in others:
        source = _append(connection, source, other, rows_of_other, policies)
    changes = apply_truth_policies(connection, source, policies, exclude)
    if source.rows and not is_part and not only_row(connection, "SELECT count(*) FROM source")[0]:
        raise no_rows_left_error(table)
    if "subtopic" in source.columns:
        _group_subtopics(connection, source)
    return source, changes


def _group_subtopics(connection: DuckDBPyConnection, source: Source) -> None:
    """Make one row of each item in the table `source`, with the list `subtopics` (name, grade).

    Its grade is the highest; other columns are those of its first row.
    """
    grade = "grade" if "grade" in source.columns else "1.0::DOUBLE"
    others = [name for name in source.columns if name in ("time", "propensity")]
    selected = ["user", "item", "min(position) AS position"]
    selected += [f"max({grade}) AS grade"]
    selected += [f"arg_min({name}, position) AS {name}" for name in others]
    subtopic = f"{{'name': CAST(subtopic AS VARCHAR), 'grade': {grade}}}"
    selected += [f"list({subtopic} ORDER BY CAST(subtopic AS VARCHAR)) AS subtopics"]
    query = f"SELECT {', '.join(selected)} FROM source GROUP BY user, item"
    connection.execute(f"CREATE OR REPLACE TABLE source AS {query}")


def _read_additional(
    connection: DuckDBPyConnection, table: InputTable, policies: Policies
) -> tuple[Source, pa.Table]:
    """Return a table with more judgements and its rows with a grade."""
    table = replace(table, required=(*table.required, "grade"), optional=(), is_additional=True)
    source, _ = read_truth(connection, table, policies, is_part=True)
    grade = "grade" if "grade" in source.columns else "1.0::DOUBLE AS grade"
    return source, connection.sql(
        f"SELECT position, user, item, {grade} FROM source"
    ).to_arrow_table()


def _append(
    connection: DuckDBPyConnection,
    source: Source,
    other: Source,
    rows: pa.Table,
    policies: Policies,
) -> Source:
    """Append rows of another table to `source`; ids are text unless they are integers in both.

    Under `negative_grade: unjudged` and `pooled` they replace rows with a negative grade.

    Raises
    ------
    InputError
        If both judge an item of a user, and no policy chooses between them, or if `source` has
        subtopics or propensities.
    """
    if extra := {"subtopic", "propensity"} & {*source.columns}:
        problem = f"cannot be added to {source.file.name}, which has the column {min(extra)!r}"
        raise refuse(other.file.name, problem, "add its rows to that file")
    for column in ("user", "item"):
        if source.is_text(column) != other.is_text(column):
            connection.execute(f"ALTER TABLE source ALTER {column} TYPE VARCHAR")
            source.raw.kinds[column] = "text"
    if "grade" not in source.columns:
        connection.execute("ALTER TABLE source ADD COLUMN grade DOUBLE DEFAULT 1.0")
        source = replace(source, columns=(*source.columns, "grade"))
    connection.register("additional", rows)
    if policies.negative_grade in {"unjudged", "pooled"}:
        judged = "SELECT user::VARCHAR, item::VARCHAR FROM additional"
        is_judged = f"(user::VARCHAR, item::VARCHAR) IN ({judged})"
        connection.execute(f"DELETE FROM source WHERE grade < 0 AND {is_judged}")
    if policies.repeated_grade == "error":
        both = "SELECT user, item FROM additional INTERSECT SELECT user, item FROM source"
        if duplicates := connection.sql(f"{both} ORDER BY ALL LIMIT 1").fetchall():
            user, item = duplicates[0]
            problem = f"judges item {item!r} of user {user!r}, as {source.file.name} does"
            setting = source.file.settings.name("input", "repeated_grade")
            fix = f"remove one of the rows, or set {setting} to first or highest"
            raise refuse(other.file.name, problem, fix)
    last = "(SELECT coalesce(max(position), 0) + 1 FROM source)"
    values = f"position + {last} AS position, * EXCLUDE position"
    connection.execute(f"INSERT INTO source BY NAME SELECT {values} FROM additional")
    connection.unregister("additional")
    (n_rows,) = only_row(connection, "SELECT count(*) FROM source")
    return replace(source, rows=n_rows)


def no_rows_left_error(table: InputTable) -> InputError:
    """Return the error for ground truth whose rows the policies all remove."""
    message = "has no rows left: every grade is negative"
    setting = table.settings.name("input", "negative_grade", value="zero")
    return refuse(table.name, message, f"set {setting}")
