"""Load recommendations, ground truth and side data: checked and sorted, with their quality."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Conventions, Ranking
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.list_batches import (
    ListBatch,
    ListStatistics,
    list_batch,
    whole_lists,
)
from concord.metrics_core.data.object_stores import has_store_failure
from concord.metrics_core.data.policies import (
    Policies,
    PolicyChanges,
    apply_list_policies,
    no_policy_changes,
)
from concord.metrics_core.data.quality import (
    count_rows,
    describe,
    describe_lists,
    describe_table,
    describe_truth,
    source_notes,
)
from concord.metrics_core.data.ranking import ListTable, choose_order, rank_by_all
from concord.metrics_core.data.read_source import (
    BATCH_ROWS,
    Progress,
    Source,
    no_progress,
    read_source,
    stream_source,
)
from concord.metrics_core.data.relations import only_row, second_cursor, separate_schema
from concord.metrics_core.data.side_data import read_train, read_truth
from concord.metrics_core.data.sorted_reader import (
    BatchChecker,
    ListChecker,
    NotSortedError,
    TruthChecker,
    read_sorted,
)
from concord.metrics_core.data.unit_detection import find_list_columns, with_unit_hint
from concord.metrics_core.data.value_checks import list_checks, valid_rows, value_problems
from concord.metrics_core.errors import InputError, format_count, raise_problems


def read_lists(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    rankings: Sequence[Ranking],
    *,
    progress: Progress = no_progress,
) -> tuple[Source, ListStatistics, PolicyChanges]:
    """Read, check and rank recommendations into the table `ranked`; see `ranking.rank_lists`.

    Returns
    -------
    source : Source
        The table `source` as it was read.
    statistics : ListStatistics
        Counts of its rows under the first ranking.
    changes : PolicyChanges
        What the policies of `input` changed.

    Raises
    ------
    InputError
        Every problem of the table at once.
    """
    source = read_source(
        connection,
        table,
        rank_base=policies.rank_base,
        may_be_empty=policies.empty_lists == "keep",
        progress=progress,
    )
    changes = apply_list_policies(connection, source, policies)
    checks = list_checks(source, nan_last=policies.nan_score == "last")
    problems = value_problems(connection, source, checks)
    try:
        rows = valid_rows(checks) if problems else "source"
        statistics = rank_source(connection, source, policies, rankings, rows=rows)
    except InputError as error:
        problems += error.problems
    raise_problems(problems)
    return source, statistics, changes


def rank_source(
    connection: DuckDBPyConnection,
    source: Source,
    policies: Policies,
    rankings: Sequence[Ranking],
    *,
    rows: str,
) -> ListStatistics:
    """Rank the valid rows of a relation into the table `ranked`; see `ranking.rank_lists`.

    Raises
    ------
    InputError
        If the rows cannot be ranked.
    """
    try:
        tables = [
            ListTable(
                connection,
                source,
                rows,
                output=f"ranked_{number}",
                order=choose_order(source, ranking.ties),
                ranking=ranking,
                policies=policies,
            )
            for number, ranking in enumerate(rankings)
        ]
        return rank_by_all(tables, output="ranked")
    except InputError as error:
        raise InputError(with_unit_hint(connection, source, error.problems)) from None


Sink = Callable[[pa.Schema, Iterable[ListBatch]], None]


@dataclass(frozen=True)
class SideData:
    """Rows of side data as a query, and their quality.

    The query reads temporary tables: it must run before another table is read.
    """

    query: str
    quality: dict[str, Any]


@dataclass(frozen=True)
class LoadedTable:
    """Recommendations or ground truth whose rows were passed to a sink.

    Attributes
    ----------
    describe : callable
        Returns the quality of the table.
    """

    source: Source
    describe: Callable[[], dict[str, Any]]


class InMemorySink:
    """A sink that collects the rows in `table`."""

    def __init__(self) -> None:
        self.table = pa.table({})

    def collect(self, schema: pa.Schema, rows: Iterable[ListBatch]) -> None:
        """Replace the table by these rows."""
        tables = (batch.table for batch in rows)
        self.table = pa.concat_tables([pa.Table.from_batches([], schema), *tables])


def load_recommendations(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    conventions: Conventions,
    sink: Sink,
    *,
    progress: Progress = no_progress,
) -> LoadedTable:
    """Pass user, item, rank [, score, ranking], sorted by user and rank, to the sink.

    Parameters
    ----------
    sink : callable
        Takes the schema and the rows. It is called again, with all rows, if it turns out that the
        lists are not sorted.

    Raises
    ------
    InputError
        Every problem of the table at once.
    """
    checker = partial(ListChecker, rankings=conventions.rankings, policies=policies)
    base = policies.rank_base
    changes: PolicyChanges = {}
    if loaded := _load_sorted(connection, table, checker, sink, rank_base=base, progress=progress):
        source, statistics = loaded
    else:
        with separate_schema(connection) as schema:
            source, ranked, changes = read_lists(
                schema, table, policies, conventions.rankings, progress=progress
            )
            _query_to_sink(schema, "SELECT * FROM ranked", sink)
            statistics = count_rows(schema, source, ranked)
    has_duplicates = statistics.duplicates.rows > 0
    columns = find_list_columns(connection, source, has_duplicates=has_duplicates)

    def describe_ranked() -> dict[str, Any]:
        quality = describe_lists(source, statistics, conventions, changes)
        quality["reading"]["input"] = vars(policies)
        if columns is not None:
            hint = columns.hint(source.file)
            quality["notes"].append(f"users may have several lists: {hint}")
            quality["several_lists"] = {"columns": [*columns.names], "setting": hint}
        return quality

    return LoadedTable(source, describe_ranked)


def load_ground_truth(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    sink: Sink,
    *,
    with_place: bool,
    exclude: str | None = None,
    may_be_empty: bool = False,
    additional: Sequence[InputTable] = (),
    progress: Progress = no_progress,
) -> LoadedTable:
    """Pass user, item, grade [, time, place, propensity, subtopics] to the sink.

    Rows are sorted by user, descending grade and item.

    Parameters
    ----------
    additional : sequence of InputTable
        Tables with more judgements; their rows without a grade are left out.
    with_place : bool
        Whether to add the position of each row as `place`; see `needs_file_order`.
    exclude : str, optional
        The convention `exclude`.

    Raises
    ------
    InputError
        Every problem of the table at once.
    """
    checker = partial(TruthChecker, with_place=with_place)
    others = {"propensity": "propensity", "subtopic": "subtopics"}
    read = [column for name, column in others.items() if name in table.columns]
    if not (read or additional or exclude) and (
        loaded := _load_sorted(connection, table, checker, sink, progress=progress)
    ):
        changes = no_policy_changes(loaded[0], policies)
        return LoadedTable(loaded[0], partial(describe_truth, *loaded, changes))
    with separate_schema(connection) as schema:
        source, changes = read_truth(
            schema,
            table,
            policies,
            exclude=exclude,
            may_be_empty=may_be_empty,
            additional=additional,
            progress=progress,
        )
        columns = [
            "user, item",
            "grade" if "grade" in source.columns else "1.0::DOUBLE AS grade",
            *(["time"] if "time" in source.columns else []),
            *(["position AS place"] if with_place else []),
            *read,
        ]
        query = f"SELECT {', '.join(columns)} FROM source ORDER BY user, grade DESC, item"
        _query_to_sink(schema, query, sink)
        statistics = count_rows(schema, source)
    return LoadedTable(source, partial(describe_truth, source, statistics, changes, additional))


def _query_to_sink(connection: DuckDBPyConnection, query: str, sink: Sink) -> None:
    with second_cursor(connection) as cursor:
        reader = cursor.sql(query).to_arrow_reader(BATCH_ROWS)
        sink(reader.schema, map(list_batch, whole_lists(reader)))


def _load_sorted(
    connection: DuckDBPyConnection,
    table: InputTable,
    make_checker: Callable[[DuckDBPyConnection, Source], BatchChecker],
    sink: Sink,
    *,
    rank_base: int = 1,
    progress: Progress,
) -> tuple[Source, ListStatistics] | None:
    """Pass the rows of a table to the sink, if need be sorted; return None if a row is invalid."""
    # Ids of sessions must be combined first, and invalid lines be found.
    if table.unit or table.format in ("jsonl", "trec"):
        return None

    def order(source: Source) -> str:
        return make_checker(connection, source).row_order

    for each in (None, order):
        try:
            with (
                connection.cursor() as cursor,  # for checks while the rows are read
                stream_source(
                    connection, table, rank_base=rank_base, progress=progress, order=each
                ) as (source, batches),
            ):
                checker = make_checker(cursor, source)
                sink(checker.schema, read_sorted(checker, batches))
            return replace(source, rows=checker.statistics.rows), checker.statistics
        except NotSortedError:
            if has_store_failure(source.raw.problems):
                raise InputError(source.raw.problems) from None
    return None


def load_train(
    connection: DuckDBPyConnection, table: InputTable, *, progress: Progress = no_progress
) -> SideData:
    """Load user, item [, time, last], each pair once; raises as `load_recommendations`."""
    source = read_train(connection, table, progress=progress)
    times = ", min(time) AS time, max(time) AS last" if "time" in source.columns else ""
    query = f"SELECT user, item{times} FROM source GROUP BY user, item ORDER BY user, item"
    count_query = "SELECT count(*) - count(DISTINCT (user, item)) FROM source"
    (n_duplicates,) = only_row(connection, count_query)
    note = (
        f"{format_count(n_duplicates, 'row')} with a duplicate user and item: each pair counts once"
    )
    quality = describe(connection, source) | {
        "repeated": n_duplicates,
        "notes": [*source_notes(source), *([note] if n_duplicates else [])],
    }
    return SideData(query, quality)


def load_items(
    connection: DuckDBPyConnection, table: InputTable, *, progress: Progress = no_progress
) -> SideData:
    """Load item [, categories, vector, title]; raises as `load_recommendations`."""
    import polars as pl  # slow to import, and lists and ground truth do not need it

    from concord.metrics_core.data.feature_tables import read_items

    frame, source = read_items(connection, table, progress=progress)
    if "title" in frame.columns:
        frame = frame.with_columns(pl.col("title").cast(pl.String))
    features = next((name for name in ("categories", "vector") if name in frame.columns), None)
    has_features = features and any(frame[features].to_list())  # not only empty cells
    connection.register("catalogue", frame.to_arrow())
    quality = describe_table(source) | {"features": features if has_features else None}
    return SideData("SELECT * FROM catalogue ORDER BY item", quality)


def load_users(
    connection: DuckDBPyConnection, table: InputTable, *, progress: Progress = no_progress
) -> SideData:
    """Load user and all columns without lists, for segments; raises as `load_recommendations`."""
    import polars as pl

    from concord.metrics_core.data.feature_tables import read_table

    frame, source = read_table(connection, table, progress=progress)
    # Selected as series: names such as `^.*$` and `*` would be patterns.
    others = [column for column in frame if not column.dtype.is_nested() and column.name != "user"]
    connection.register("users", pl.DataFrame([frame["user"], *others]).to_arrow())
    return SideData("SELECT * FROM users ORDER BY user", describe_table(source))


LOADERS = {"train": load_train, "items": load_items, "users": load_users}


def needs_file_order(conventions: Conventions) -> bool:
    """True if a metric reads the ground truth in the order of the file."""
    return any(variant.ideal == "truth_given_order_at_k" for variant in conventions.variants)
