"""Load ground truth, train, catalogue and users: checked, in the table `source` and as a frame."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.input_table import InputTable, shared_columns
from concord.metrics_core.data.load_lists import with_unit_hint
from concord.metrics_core.data.policies import Policies, PolicyChanges, apply_truth_policies
from concord.metrics_core.data.row_checks import RowCheck, only_row
from concord.metrics_core.data.small_tables import cells_of
from concord.metrics_core.data.source import Progress, Source, no_progress, read_source
from concord.metrics_core.data.value_checks import (
    DROP,
    as_number,
    feature_problems,
    id_checks,
    list_checks,
    number_problems,
    repeated_judgements,
    sound_rows,
    time_checks,
    truth_checks,
    value_problems,
)
from concord.metrics_core.errors import InputError, Problem, in_words, refuse

SEPARATOR = "|"  # of categories, in text
TRAIN_COLUMNS = (("user", "item"), ("time",))  # must be there, may be there
ITEMS_COLUMNS = (("item",), ("categories", "vector", "title", "group"))
INTERACTIONS_COLUMNS = (("user", "item", "time"), ("grade",))


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
    InputError : every problem of the table at once
    """
    source = read_source(connection, table, may_be_empty=may_be_empty, progress=progress)
    checks = [*list_checks(source), *time_checks(source)]
    if problems := value_problems(connection, source, checks):
        raise InputError(problems)
    return source


def read_interactions(
    connection: DuckDBPyConnection, table: InputTable, *, progress: Progress = no_progress
) -> Source:
    """Read and check interactions with times, and grades if there are any, into the table `source`; they may repeat.

    Raises
    ------
    InputError : every problem of the table at once
    """
    source = read_source(connection, table, progress=progress)
    endless = RowCheck("time", "isinf(time)", "is infinite", f"give every row a time, or {DROP}")
    checks = [*truth_checks(source, Policies(negative_grade="zero")), endless]
    if problems := value_problems(connection, source, checks):
        raise InputError(problems)
    return source


def read_items(
    connection: DuckDBPyConnection, table: InputTable, *, progress: Progress = no_progress
) -> tuple[pl.DataFrame, Source]:
    """Return the catalogue: item; categories, vector and title if present; group and numbers if they are named.

    Raises
    ------
    InputError : every problem of the table at once
    """
    frame, source = read_table(connection, table, progress=progress)
    if frame.schema.get("categories") == pl.String:
        text = pl.col("categories")
        blank = text.str.strip_chars() == ""
        frame = frame.with_columns(pl.when(~blank).then(text.str.split(SEPARATOR)))
    if frame.schema.get("categories") == pl.List(pl.String):
        stripped = pl.col("categories").list.eval(pl.element().str.strip_chars())
        frame = frame.with_columns(stripped)
    if "group" in table.columns and not frame.schema["group"].is_nested():
        group = pl.col("group").cast(pl.String).str.strip_chars()
        frame = frame.with_columns(pl.when(group != "").then(group).alias("group"))
    numbers = [name for name in table.columns if name not in (*table.needs, *ITEMS_COLUMNS[1])]
    frame = frame.with_columns(as_number(frame, name) for name in numbers)
    if problems := [*feature_problems(source, frame), *number_problems(source, frame, numbers)]:
        raise InputError(problems)
    known: list[str] = [
        name for name in ("item", "categories", "vector", "title") if name in frame.columns
    ]
    known += ["group"] if "group" in table.columns else []
    return frame.select(*known, *numbers), source


def read_users(connection: DuckDBPyConnection, table: InputTable) -> None:
    """Read and check ids of users into the table `source`; they may repeat.

    Raises
    ------
    InputError : an id is missing or cannot be read
    """
    source = read_source(connection, table, may_be_empty=True)
    connection.execute("ALTER TABLE source ADD COLUMN item VARCHAR")
    checks = [check for column in source.ids for check in id_checks(source, column)]
    if problems := value_problems(connection, source, checks):
        raise InputError(problems)


def read_table(
    connection: DuckDBPyConnection, file: InputTable, *, progress: Progress = no_progress
) -> tuple[pl.DataFrame, Source]:
    """Return the table under our names, its ids checked; `file.needs` is the one column of ids.

    Raises
    ------
    InputError : the file cannot be read as a table, an id is missing, wrong or stands twice
    """
    (key,) = file.needs
    if file.format == "trec":
        raise refuse(file.name, "is trec", "give it as parquet, arrow, csv, tsv or jsonl")
    source = read_source(connection, replace(file, may_have=()), progress=progress)
    other = "item" if key == "user" else "user"
    connection.execute(f"ALTER TABLE source ADD COLUMN {other} VARCHAR")
    problems = value_problems(connection, source, id_checks(source, key))
    problems += _repeated(connection, source, key)
    if problems:
        raise InputError(problems)
    query = f"SELECT {key} FROM source ORDER BY position"
    ids = pl.from_arrow(connection.sql(query).to_arrow_reader().read_all()[key])
    assert isinstance(ids, pl.Series)
    cells = cells_of(file)
    _refuse_left_out(file, cells.left_out)
    frame = cells.frame
    _refuse_names(file, frame.columns, cells.names)
    if len(frame) != len(ids):
        what = f"is damaged: {len(ids)} ids, but {len(frame)} rows"
        raise refuse(file.name, what, "write or copy the file again")
    frame = frame.rename({theirs: ours for ours, theirs in file.columns.items()})
    return frame.with_columns(ids.alias(key)), _noted(source, cells.left_out)


def _refuse_left_out(file: InputTable, left_out: Mapping[str, str]) -> None:
    """Raise for columns that are requested by name and have an unusable type."""
    asked = {file.theirs(name) for name in file.may_have} | set(file.columns.values())
    problems = [
        Problem(
            f"{file.name}: column {name!r}", f"is of type {kind}", "write it as text or numbers"
        )
        for name, kind in left_out.items()
        if name in asked
    ]
    if problems:
        raise InputError(problems)


def _noted(source: Source, left_out: Mapping[str, str]) -> Source:
    if not left_out:
        return source
    listed = ", ".join(f"{name!r} ({kind})" for name, kind in left_out.items())
    note = f"left out, since they hold neither text nor numbers: {listed[:300]}"
    return replace(source, notes=(*source.notes, note))


def _refuse_names(file: InputTable, found: list[str], names: list[str]) -> None:
    """Raise for mapped names that the file lacks, and for names that differ only in case: DuckDB ignores case."""
    ours = {theirs: ours for ours, theirs in file.columns.items()}
    problems = [
        Problem(
            f"{file.name}: column {theirs!r}",
            f"is missing; the columns are: {', '.join(names)}",
            f"change {file.settings.all_columns}",
        )
        for theirs in ours
        if theirs not in names
    ]
    problems += shared_columns(file, file.columns)
    seen: dict[str, str] = {}
    for name in found:
        other = seen.setdefault(ours.get(name, name).lower(), name)
        if other != name:
            what = f"and {other!r} would be one column: they differ in capitals alone, or one is mapped to the other"
            problems.append(
                Problem(f"{file.name}: column {name!r}", what, "rename or remove one of them")
            )
    if problems:
        raise InputError(problems)


def _repeated(connection: DuckDBPyConnection, source: Source, key: str) -> list[Problem]:
    groups = f"""(SELECT {key}, count(*) - 1 AS later, list_sort(list(position))[:2] AS places
                  FROM source WHERE {key} IS NOT NULL GROUP BY {key} HAVING count(*) > 1)"""
    (count,) = only_row(connection, f"SELECT coalesce(sum(later), 0)::BIGINT FROM {groups}")
    if not count:
        return []
    known, places = only_row(
        connection, f"SELECT {key}, places FROM {groups} ORDER BY places LIMIT 1"
    )
    where = " and ".join(source.raw.place(position) for position in places)
    what = f"{key} {known!r} occurs more than once; {in_words(count, 'row')} affected"
    return [Problem(f"{source.file.name}: {where}", what, f"keep one row for each {key}")]


TRUTH_COLUMNS = (("user", "item"), ("grade", "time", "propensity"))  # must be there, may be there


def read_truth(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    *,
    may_be_empty: bool = False,
    is_part: bool = False,
    progress: Progress = no_progress,
) -> tuple[Source, PolicyChanges]:
    """Read and check judgements into the table `source`; says what the policies of `input` changed.

    is_part : are there other parts of the table, so that nothing may be left of this one?

    Raises
    ------
    InputError : every problem of the table at once
    """
    source = read_source(connection, table, may_be_empty=may_be_empty or is_part, progress=progress)
    checks = truth_checks(source, policies)
    problems = value_problems(connection, source, checks)
    rows = sound_rows(checks) if problems else "source"
    if policies.repeated_grade == "error":
        problems += repeated_judgements(connection, source, rows)
    if problems:
        raise InputError(problems if is_part else with_unit_hint(connection, source, problems))
    changed = apply_truth_policies(connection, source, policies)
    left = is_part or only_row(connection, "SELECT count(*) FROM source")[0]
    if source.rows and not left:
        raise no_rows_left_error(table)
    return source, changed


def no_rows_left_error(table: InputTable) -> InputError:
    """Return the error for ground truth whose rows the policies all remove."""
    what = "has no rows left: every grade is negative"
    return refuse(table.name, what, f"set {table.settings.input('negative_grade', 'zero')}")
