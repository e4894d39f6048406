"""Checks of an audit: invalid rows with the affected users, and copies of items and users."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.analyses.audit.result import MIN_SET_SIZE, Copies, Example
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.tables import (
    Table,
    create_view,
    file_paths,
    schema_of,
    share_id_types,
)
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.model_result import EvaluationData, Models, results_by_list

MAX_EXAMPLES = 5
Kind = Literal["item", "user"]
KINDS: tuple[Kind, ...] = ("item", "user")
_OTHER: Mapping[Kind, Kind] = {"item": "user", "user": "item"}


@dataclass(frozen=True)
class AuditTables:
    """Views of the audited tables; ids have the same type in all of them.

    `train` has the columns user, item and, with times, time and last. `truth` has user, item, grade
    and, with times, time; it is the union of all folds. `items` may be missing.

    Attributes
    ----------
    has_times : bool
        True if train and truth have times. Then the table `begins` has the columns user, and
        `began` and `ended`: the first and last time of the user's truth.
    copy_columns : tuple of str
        Columns of `items` that identify copies.
    lists : dict of str to (str, str)
        Name of recommendations -> their view, and the view of their ground truth.
    """

    connection: DuckDBPyConnection
    has_times: bool
    copy_columns: tuple[str, ...]
    lists: Mapping[str, tuple[str, str]]

    @cached_property
    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Rows and items of `truth` and `train`."""
        return {name: _size(self.connection, name) for name in ("truth", "train")}

    @cached_property
    def n_users(self) -> int:
        """Users of the truth."""
        return int(only_row(self.connection, "SELECT count(DISTINCT user) FROM truth")[0])


def _size(connection: DuckDBPyConnection, relation: str) -> tuple[int, int]:
    rows, items = only_row(connection, f"SELECT count(*), count(DISTINCT item) FROM {relation}")
    return rows, items


@contextmanager
def open_tables(models: Models, data: EvaluationData) -> Iterator[AuditTables]:
    """Open the tables as views; `data` must have a train table."""
    if data.train is None:
        problem = "is missing, and an audit compares the ground truth with it"
        raise refuse("train", problem, "give the training set")
    truths = dict(data.folds) or {"": data.truth}
    truth_views = {fold: f"truth_{n}" for n, fold in enumerate(truths)}
    singles = results_by_list(models)
    list_views = {name: f"lists_{n}" for n, name in enumerate(singles)}
    tables: dict[str, Table] = {"train": data.train}
    tables |= {truth_views[fold]: truth for fold, truth in truths.items()}
    tables |= {list_views[name]: single.lists for name, single in singles.items()}
    if data.items is not None:
        tables["items"] = data.items
    with data.connect(file_paths(tables.values())) as connection:
        for name, table in tables.items():
            create_view(connection, f"{name}_table", table)
        share_id_types(connection, {name: f"{name}_table" for name in tables})
        union = " UNION ALL BY NAME ".join(f"FROM {name}" for name in truth_views.values())
        connection.execute(f"CREATE TEMP VIEW truth AS {union}")
        has_times = all("time" in schema_of(table) for table in (data.train, *truths.values()))
        if has_times:
            connection.execute(
                "CREATE TEMP TABLE begins AS "
                "SELECT user, min(time) AS began, max(time) AS ended FROM truth GROUP BY user"
            )
        views = {
            name: (list_views[name], truth_views[single.quality["fold"] if data.folds else ""])
            for name, single in singles.items()
        }
        columns = () if data.items is None else schema_of(data.items)
        copy_columns = tuple(name for name in ("title", "vector") if name in columns)
        yield AuditTables(connection, has_times, copy_columns, views)


@dataclass(frozen=True)
class RowQuery:
    """The query of a check.

    Parameters
    ----------
    name : str
        Name of the check.
    rows : str
        SQL of the affected rows: user, item, and further columns for examples.
    table : {'truth', 'train'}
        Table of these rows.
    affected : str
        SQL of the affected users. Default: the users of these rows.
    may_repeat : bool
        True if a row may occur several times, for example in two lists.
    """

    name: str
    rows: str
    table: Literal["truth", "train"]
    affected: str = "SELECT DISTINCT user FROM rows_of_check"
    may_repeat: bool = False


@dataclass(frozen=True)
class CheckedRows:
    """Result of a query.

    Attributes
    ----------
    rows, items : int
        Number of affected rows, and of their items.
    of_rows, of_items : int
        Number of all rows and items of the table.
    affected : polars.Series
        Ids of the affected users as text.
    examples : tuple of dict
        First affected rows.
    """

    name: str
    rows: int
    of_rows: int
    items: int
    of_items: int
    affected: pl.Series
    examples: tuple[Example, ...]

    @property
    def users(self) -> int:
        """Number of affected users."""
        return len(self.affected)


TRUTH_BEFORE_TRAIN = RowQuery(
    "truth_before_train",
    """SELECT user, item, last AS train_time, began AS truth_time
       FROM train JOIN begins USING (user) WHERE last > began""",
    "train",
)
TRAIN_AFTER_TRUTH = RowQuery(
    "train_after_truth",
    """SELECT user, item, last AS train_time, (SELECT min(began) FROM begins) AS truth_time
       FROM train WHERE last > (SELECT min(began) FROM begins)""",
    "train",
    affected="SELECT user FROM begins WHERE began < (SELECT max(last) FROM train)",
)
TRUTH_IN_TRAIN = RowQuery(
    "truth_in_train", "SELECT user, item FROM truth SEMI JOIN train USING (user, item)", "truth"
)
COLD_USERS = RowQuery(
    "cold_users", "SELECT user, item FROM truth ANTI JOIN train USING (user)", "truth"
)
COLD_ITEMS = RowQuery(
    "cold_items", "SELECT user, item FROM truth ANTI JOIN train USING (item)", "truth"
)


def born_after_query(kind: Kind) -> RowQuery:
    """Return the query of truth rows that precede the first train row of their item or user."""
    return RowQuery(
        f"{kind}s_born_after",
        f"""SELECT truth.user, truth.item, truth.time AS truth_time, born AS train_time FROM truth
            JOIN (SELECT {kind}, min(time) AS born FROM train GROUP BY {kind}) USING ({kind})
            WHERE truth.time < born""",
        "truth",
    )


def copies_query(kind: Kind) -> RowQuery:
    """Return the query of rows of the truth that train has for a copy of the item, or user."""
    other = _OTHER[kind]
    truth, train = (
        f"(SELECT user, item, component FROM {table} JOIN copies_of_{kind} ON {kind} = id)"
        for table in ("truth", "train")
    )
    return RowQuery(
        f"{kind}_copies",
        f"""SELECT t.user, t.item, CAST(min(r.{kind}) AS VARCHAR) AS copy FROM {truth} AS t
            JOIN {train} AS r ON t.{other} = r.{other} AND t.component = r.component
                 AND t.{kind} <> r.{kind}
            GROUP BY t.user, t.item""",
        "truth",
    )


def find_rows(tables: AuditTables, query: RowQuery) -> CheckedRows:
    """Run a query and count its rows; the result does not depend on the order of rows."""
    tables.connection.execute(f"CREATE OR REPLACE TEMP VIEW rows_of_check AS {query.rows}")
    rows, items = _size(tables.connection, "rows_of_check")
    of_rows, of_items = tables.sizes[query.table]
    text = f"SELECT CAST(user AS VARCHAR) AS user FROM ({query.affected})"
    affected = pl.DataFrame(tables.connection.sql(text).to_arrow_table())["user"].cast(pl.String)
    examples = tuple(_examples(tables.connection, distinct=query.may_repeat)) if rows else ()
    return CheckedRows(query.name, rows, of_rows, items, of_items, affected, examples)


def _examples(connection: DuckDBPyConnection, *, distinct: bool) -> Iterator[Example]:
    """Yield the first rows by user, item and the further columns."""
    columns = connection.view("rows_of_check").columns
    rows = "SELECT DISTINCT * FROM rows_of_check" if distinct else "FROM rows_of_check"
    as_text = "CAST(r.user AS VARCHAR) AS user, CAST(r.item AS VARCHAR) AS item"
    order = ", ".join(f"r.{column}" for column in columns)
    query = (
        f"SELECT r.* REPLACE ({as_text}) FROM ({rows}) AS r ORDER BY {order} LIMIT {MAX_EXAMPLES}"
    )
    for row in connection.execute(query).fetchall():
        yield dict(zip(columns, row, strict=True))


def find_future_items(tables: AuditTables, k: int | None) -> CheckedRows:
    """Find recommended items that first occur in train after the user's last row of the truth.

    Their share is of all items in the top k of the lists.
    """
    ranks = "TRUE" if k is None else f"rank <= {k}"
    future, recommended = [], []
    for lists, truth in tables.lists.values():
        first = "ranking = 0 AND" if "ranking" in tables.connection.view(lists).columns else ""
        top = f"SELECT user, item FROM {lists} WHERE {first} {ranks} AND item IS NOT NULL"
        ends = f"SELECT user, max(time) AS ended FROM {truth} GROUP BY user"
        recommended.append(f"{top} AND user IN (SELECT user FROM {truth})")
        future.append(
            f"""SELECT user, item, ended AS truth_time, born AS train_time
                FROM ({top}) JOIN ({ends}) USING (user)
                JOIN (SELECT item, min(time) AS born FROM train GROUP BY item) USING (item)
                WHERE born > ended"""
        )
    query = RowQuery("future_items", " UNION ALL ".join(future), "truth", may_repeat=True)
    of_rows, of_items = _size(tables.connection, f"({' UNION ALL '.join(recommended)})")
    return replace(find_rows(tables, query), of_rows=of_rows, of_items=of_items)


MIN_JACCARD = (4, 5)  # numerator and denominator
N_BANDS, BAND_SIZE = 8, 4
_PRIME = 2**31 - 1
_TITLE = r"lower(trim(regexp_replace(title, '\s+', ' ', 'g')))"
_KEYS = {  # column of `items` -> SQL of the value that copies have in common
    "title": f"nullif({_TITLE}, '')",
    "vector": "CASE WHEN list_min(vector) <> 0 OR list_max(vector) <> 0 THEN vector END",
}


def find_copies(tables: AuditTables, kind: Kind) -> tuple[Copies, tuple[Example, ...]]:
    """Return the number of copies, and examples of pairs.

    Creates the table `copies_of_<kind>` with the columns `id` and `component`: ids with the same
    component are copies of each other.
    """
    member = _OTHER[kind]
    pairs_by_criterion = {f"{member}s": _similar_sets(tables, kind, member)}
    if kind == "item":
        equal = {column: _equal_items(tables, _KEYS[column]) for column in tables.copy_columns}
        pairs_by_criterion = equal | pairs_by_criterion
    pairs = pl.concat(pairs_by_criterion.values())
    components = _connected_components(pairs)
    tables.connection.register(f"copies_of_{kind}", components.to_arrow())
    first_pairs = pairs.unique().sort("a", "b").head(MAX_EXAMPLES)
    examples = tuple({kind: str(a), "copy": str(b)} for a, b in first_pairs.rows())
    n_pairs = {criterion: len(each.unique()) for criterion, each in pairs_by_criterion.items()}
    return Copies(len(components), n_pairs), examples


def _equal_items(tables: AuditTables, key: str) -> pl.DataFrame:
    """Return pairs of each item and the first item with the same key."""
    query = f"""SELECT a, item AS b FROM (SELECT item, min(item) OVER (PARTITION BY key) AS a
        FROM (SELECT item, {key} AS key FROM items) WHERE key IS NOT NULL) WHERE a <> item"""
    return pl.DataFrame(tables.connection.sql(query).to_arrow_table())


def _similar_sets(tables: AuditTables, kind: Kind, member: Kind) -> pl.DataFrame:
    """Return pairs of sets whose Jaccard similarity is at least `MIN_JACCARD`.

    The similarity is computed for candidate pairs: neighbours among the sets with the same
    min-hashes in a band.
    """
    random = np.random.Generator(np.random.PCG64(1))
    coefficients = random.integers(1, _PRIME, (N_BANDS * BAND_SIZE, 2)).tolist()
    hashes = ", ".join(
        f"min(({a} * x + {b}) % {_PRIME}) AS h{n}" for n, (a, b) in enumerate(coefficients)
    )
    number = f"CAST(md5_number_lower(CAST({member} AS VARCHAR)) % {_PRIME} AS BIGINT)"
    tables.connection.execute(
        f"""CREATE OR REPLACE TEMP TABLE signatures AS
        SELECT {kind} AS id, count(*) AS n, {hashes}
        FROM train JOIN (SELECT {member}, {number} AS x
                         FROM (SELECT DISTINCT {member} FROM train)) USING ({member})
        GROUP BY {kind} HAVING count(*) >= {MIN_SET_SIZE}"""
    )
    bands = " UNION ALL ".join(map(_band_sql, range(N_BANDS)))
    numerator, denominator = MIN_JACCARD
    query = f"""
    WITH candidates AS (
        SELECT DISTINCT lag(id) OVER bucket AS a, lag(n) OVER bucket AS n_a, id AS b, n AS n_b
        FROM ({bands}) WINDOW bucket AS (PARTITION BY band, hashes ORDER BY n, id)),
    intersections AS (
        SELECT a, b, n_a, n_b, count(*) AS shared
        FROM (FROM candidates WHERE a IS NOT NULL AND {denominator} * n_a >= {numerator} * n_b)
        JOIN train AS train_a ON train_a.{kind} = a
        JOIN train AS train_b ON train_b.{kind} = b AND train_b.{member} = train_a.{member}
        GROUP BY ALL)
    SELECT least(a, b) AS a, greatest(a, b) AS b FROM intersections
    WHERE {denominator} * shared >= {numerator} * (n_a + n_b - shared)"""
    return pl.DataFrame(tables.connection.sql(query).to_arrow_table())


def _band_sql(band: int) -> str:
    hashes = ", ".join(f"h{band * BAND_SIZE + n}" for n in range(BAND_SIZE))
    return f"SELECT id, n, {band} AS band, [{hashes}] AS hashes FROM signatures"


def _connected_components(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return all ids of the pairs, and the number of each id's connected component."""
    from scipy import sparse  # a slow import

    ids = pl.concat([pairs["a"], pairs["b"]]).unique().sort()
    a, b = (ids.search_sorted(pairs[name]).to_numpy() for name in ("a", "b"))
    edges = sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(len(ids), len(ids)))
    _, components = sparse.csgraph.connected_components(edges, directed=False)
    return pl.DataFrame({"id": ids, "component": components.astype(np.int64)})
