"""Items in groups by popularity: how well rare items are found, and how many of them are shown.

Both look at the same groups and ask different questions: the first groups what users wanted, the second what
they were shown.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.relations import files, view
from concord.metrics_core.comparing.evidence.evaluated import Models, lists_of
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.evidence.segmentations import ByPopularity
from concord.metrics_core.comparing.evidence.visible_ranks import closed_up
from concord.metrics_core.comparing.segments.grouped import Grouped
from concord.metrics_core.metrics.catalogue import Label, parse
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.scoring.background import Background
from concord.metrics_core.scoring.partition import Task, evaluate_partition
from concord.metrics_core.statistics.replicates import mean_of_defined

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


def item_groups(evidence: Evidence, segmentation: ByPopularity, k: int) -> Grouped:
    """R@k of the truth items of each group, or the share of the top k that each group has."""
    single = lists_of(evidence.models)
    with _connected(evidence, single, segmentation) as connection:
        grouping = _Grouping(connection, evidence, segmentation.by, parse(f"R@{k}"), k)
        of_lists = {name: grouping.of_lists(number) for number, name in enumerate(single)}
    label = parse(f"R@{k}") if segmentation.by == "truth_item" else None
    users = evidence.aligned.users.cast(pl.String).to_frame("user")
    placed = {
        m: users.join(f, on="user", how="left", maintain_order="left") for m, f in of_lists.items()
    }
    values: dict[str, Mapping[str, Floats]] = {
        group: {
            model: mean_of_defined(
                [placed[name][group].fill_null(np.nan).to_numpy() for name in names]
            )
            for model, names in _names(evidence.models).items()
        }
        for group in GROUPS
    }
    known = {
        group: of_models
        for group, of_models in values.items()
        if any(_occurs(column, shares=label is None) for column in of_models.values())
    }
    text = f"Share@{k}" if label is None else str(label)
    bounds = (0.0, 1.0) if label is None else label.bounds(evidence.asked.conventions)
    return Grouped(text, label, known, evidence.aligned.clusters, bounds)


def _names(models: Models) -> dict[str, list[str]]:
    """Model -> names of its lists."""
    return {model: list(found.trainings or [model]) for model, found in models.items()}


def _occurs(values: Floats, *, shares: bool) -> bool:
    """Does anybody want an item of this group, or is one shown?"""
    return bool((values > 0).any() if shares else (~np.isnan(values)).any())


@contextmanager
def _connected(
    evidence: Evidence, single: Models, segmentation: ByPopularity
) -> Iterator[DuckDBPyConnection]:
    ground = evidence.ground
    assert ground.train is not None, "refused before"
    tables = {"train": ground.train}
    for number, evaluated in enumerate(single.values()):
        tables[f"lists_of_{number}"] = evaluated.lists
        tables[f"truth_of_{number}"] = ground.truth_of(evaluated)
    with ground.connecting(files(tables.values())) as connection:
        for name, table in tables.items():
            view(connection, name, table)
        head, middle = segmentation.shares
        connection.execute(_POPULARITY, {"head": head, "middle": middle})
        yield connection


@dataclass(frozen=True)
class _Grouping:
    """One question on the groups; `recall` is R@k."""

    connection: DuckDBPyConnection
    evidence: Evidence
    by: str
    recall: Label
    k: int

    def of_lists(self, number: int) -> pl.DataFrame:
        """User as text, then a column a group; null where nothing is known."""
        conventions = self.evidence.asked.conventions
        lists = self.connection.view(f"lists_of_{number}")
        if "ranking" in lists.columns:
            lists = lists.filter(f"ranking = {self.recall.ranking_number(conventions)}")
        if self.by == "recommended_item":
            lists.create_view("lists", replace=True)
            return self._shares()
        whole = conventions.candidates is not None  # a sampled rank below k counts too
        if not whole and self.recall.conventions(conventions).ties != "average":
            lists = lists.filter(f"rank <= {self.k}")  # else items tied with the k-th count too
        lists.create_view("lists", replace=True)
        self.connection.view(f"truth_of_{number}").create_view("truth", replace=True)
        found, *others = (self._recall(place, group) for place, group in enumerate(GROUPS))
        for other in others:
            found = found.join(other, on="user", how="full", coalesce=True)
        return found

    @cached_property
    def _task(self) -> Task:
        """Recall is a mean over users, however sums are normalised: the weights are those of the group's items alone."""
        ground, pinned = self.evidence.ground, self.evidence.asked.conventions
        asked = {k: v for k, v in (pinned.propensity or {}).items() if k != "normalised"}
        task = Task([self.recall], replace(pinned, propensity=asked or None), only_known=True)
        return Background(ground.train, ground.items).shelved(task)

    def _shares(self) -> pl.DataFrame:
        """The share of each user's top k that goes to items of each group."""
        shares = (
            f"count(*) FILTER (coalesce(popularity.place, 3) = {place}) / count(*) AS {group}"
            for place, group in enumerate(GROUPS)
        )
        query = _SHARES.format(columns=", ".join(shares), lists=closed_up("lists"))
        return pl.DataFrame(self.connection.sql(query, params={"k": self.k}).to_arrow_table())

    def _recall(self, place: int, group: str) -> pl.DataFrame:
        """R@k by the pinned conventions, as if the truth held the relevant items of one group only."""
        conventions = self.evidence.asked.conventions
        least = self.recall.conventions(conventions).relevance_threshold
        relevant = "" if least is None else f" AND grade >= {least!r}"
        kept = f"""SELECT truth.* FROM truth LEFT JOIN popularity ON popularity.item = CAST(truth.item AS VARCHAR)
                   WHERE coalesce(popularity.place, 3) = {place}{relevant}"""
        texts = _differing(self.connection)
        with self.evidence.ground.connecting([]) as alone:
            for name, query in (("lists", "SELECT * FROM lists"), ("truth", kept)):
                casts = ", ".join(f"CAST({c} AS VARCHAR) AS {c}" for c in texts)
                chosen = f"SELECT * REPLACE ({casts}) FROM ({query})" if texts else query
                alone.register(name, self.connection.sql(chosen).to_arrow_table())
            alone.sql("SELECT user FROM truth").create_view("known")
            values = evaluate_partition(alone, self._task).values
        columns = (pl.col("user").cast(pl.String), pl.col(str(self.recall)).alias(group))
        return values.select(columns)


def _differing(connection: DuckDBPyConnection) -> list[str]:
    """The id columns that must be compared by their text, because the files' types differ."""
    types = [
        dict(
            connection.execute(f"SELECT column_name, column_type FROM (DESCRIBE {name})").fetchall()
        )
        for name in ("lists", "truth")
    ]
    return [name for name in ("user", "item") if types[0][name] != types[1][name]]
