"""Items in groups by popularity: how well rare items are found, and how many of them are shown.

Both look at the same groups and ask different questions: the first groups what users wanted, the second what
they were shown.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from metrics_core.metrics.catalogue import Label, parse
from metrics_core.scoring.partition import Task, evaluate_partition
from pipeline.comparing.aligned import Aligned
from pipeline.comparing.places import closed_up
from pipeline.comparing.segments.grouped import Floats, Grouped
from pipeline.params.model import ByPopularity, Params
from pipeline.running.connections import reading

GROUPS = ("head", "middle", "tail", "cold")
QUESTIONS = {
    "truth_item": "Are rare items found? Recall of the items that users wanted, by popularity in train.",
    "recommended_item": "Are rare items shown? The share of a list that goes to items of each popularity in train.",
}

# Items by falling number of users in the train, equal ones by id; an item belongs where its interactions end.
_POPULARITY = """
CREATE TABLE popularity AS
SELECT item, CASE WHEN before < $head * total THEN 0 WHEN before < $middle * total THEN 1 ELSE 2 END AS place
FROM (SELECT item, n, sum(n) OVER (ORDER BY n DESC, item) - n AS before, sum(n) OVER () AS total
      FROM (SELECT CAST(item AS VARCHAR) AS item, count(*) AS n FROM train GROUP BY ALL))
"""
_SHARES = """
SELECT CAST(user AS VARCHAR) AS user, {columns}
FROM {lists} AS shown LEFT JOIN popularity ON popularity.item = CAST(shown.item AS VARCHAR)
WHERE shown.place <= $k GROUP BY ALL
"""


def item_groups(params: Params, segmentation: ByPopularity, aligned: Aligned, k: int) -> Grouped:
    """R@k of the truth items of each group, or the share of the top k that each group has."""
    with _connected(params, segmentation) as connection:
        of_models = {
            model: _read(connection, params, segmentation, model, k) for model in aligned.paths
        }
    label = parse(f"R@{k}") if segmentation.by == "truth_item" else None
    users = aligned.users.cast(pl.String).to_frame("user")
    placed = {
        m: users.join(f, on="user", how="left", maintain_order="left") for m, f in of_models.items()
    }
    values: dict[str, Mapping[str, Floats]] = {
        group: {m: frame[group].fill_null(np.nan).to_numpy() for m, frame in placed.items()}
        for group in GROUPS
    }
    known = {
        group: of_models
        for group, of_models in values.items()
        if any(_occurs(column, shares=label is None) for column in of_models.values())
    }
    return Grouped(f"Share@{k}" if label is None else str(label), label, known)


def _occurs(values: Floats, *, shares: bool) -> bool:
    """Does anybody want an item of this group, or is one shown?"""
    return bool((values > 0).any() if shares else (~np.isnan(values)).any())


@contextmanager
def _connected(params: Params, segmentation: ByPopularity) -> Iterator[DuckDBPyConnection]:
    files = {name: Path(params.results.data) / f"{name}.parquet" for name in ("train", "truth")}
    lists = [_lists(params, model) for model in params.models]
    with reading([*files.values(), *lists]) as connection:
        for name, path in files.items():
            connection.read_parquet(str(path)).create_view(name)
        head, middle = segmentation.shares
        connection.execute(_POPULARITY, {"head": head, "middle": middle})
        yield connection


def _lists(params: Params, model: str) -> Path:
    return Path(params.results.lists) / f"{model}.parquet"


def _read(
    connection: DuckDBPyConnection, params: Params, segmentation: ByPopularity, model: str, k: int
) -> pl.DataFrame:
    """User as text, then a column a group; null where nothing is known."""
    lists = connection.read_parquet(str(_lists(params, model)))
    recall = parse(f"R@{k}")
    if "ranking" in lists.columns:
        lists = lists.filter(f"ranking = {recall.ranking_number(params.pinned)}")
    if segmentation.by == "recommended_item":
        return _shares(connection, lists, k)
    if (
        recall.conventions(params.pinned).ties != "average"
    ):  # then items tied with the k-th count too
        lists = lists.filter(f"rank <= {k}")
    lists.create_view("lists", replace=True)
    frames = [
        _recall(connection, params, place, group, recall) for place, group in enumerate(GROUPS)
    ]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.join(frame, on="user", how="full", coalesce=True)
    return whole


def _shares(connection: DuckDBPyConnection, lists: DuckDBPyRelation, k: int) -> pl.DataFrame:
    """The share of each user's top k that goes to items of each group."""
    lists.create_view("lists", replace=True)
    shares = (
        f"count(*) FILTER (coalesce(popularity.place, 3) = {place}) / count(*) AS {group}"
        for place, group in enumerate(GROUPS)
    )
    query = _SHARES.format(columns=", ".join(shares), lists=closed_up("lists"))
    return pl.DataFrame(connection.sql(query, params={"k": k}).to_arrow_table())


def _recall(
    connection: DuckDBPyConnection, params: Params, place: int, group: str, recall: Label
) -> pl.DataFrame:
    """R@k by the pinned conventions, as if the truth held the relevant items of one group only."""
    least = recall.conventions(params.pinned).relevance_threshold
    relevant = "" if least is None else f" AND grade >= {least!r}"
    kept = f"""SELECT truth.* FROM truth LEFT JOIN popularity ON popularity.item = CAST(truth.item AS VARCHAR)
               WHERE coalesce(popularity.place, 3) = {place}{relevant}"""
    texts = _differing(connection)
    with reading() as alone:
        for name, query in (("lists", "SELECT * FROM lists"), ("truth", kept)):
            casts = ", ".join(f"CAST({c} AS VARCHAR) AS {c}" for c in texts)
            chosen = f"SELECT * REPLACE ({casts}) FROM ({query})" if texts else query
            alone.register(name, connection.sql(chosen).to_arrow_table())
        alone.sql("SELECT user FROM truth").create_view("known")
        task = Task([recall], params.pinned, only_known=True)
        values = evaluate_partition(alone, task).values
    return values.select(pl.col("user").cast(pl.String), pl.col(str(recall)).alias(group))


def _differing(connection: DuckDBPyConnection) -> list[str]:
    """The id columns that must be compared by their text, because the files' types differ."""
    types = [
        dict(
            connection.execute(f"SELECT column_name, column_type FROM (DESCRIBE {name})").fetchall()
        )
        for name in ("lists", "truth")
    ]
    return [name for name in ("user", "item") if types[0][name] != types[1][name]]
