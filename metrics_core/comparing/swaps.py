"""List-swap tests of the labels over all users: each model against the baseline, from the lists in rank order."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.relations import files, schema, view, whole
from concord.metrics_core.comparing.evidence.evaluated import Ground, Models
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.evidence.visible_ranks import closed_up
from concord.metrics_core.comparison.parts import or_none
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.listed import Items
from concord.metrics_core.scoring.judge import fetch
from concord.metrics_core.scoring.listing import number_items
from concord.metrics_core.scoring.numerics.clusters import Clusters
from concord.metrics_core.statistics.jackknife import jackknife_intervals
from concord.metrics_core.statistics.swap import Measure, Shown, Swapped, swap_tests

_USER_NUMBERS = """
CREATE TABLE user_numbers AS
SELECT user, CAST(row_number() OVER (ORDER BY user) - 1 AS BIGINT) AS user_number
FROM (SELECT DISTINCT CAST(user AS VARCHAR) AS user FROM lists)
"""
_SHOWN = """
SELECT DISTINCT user_number, item_number
FROM (SELECT CAST(user AS VARCHAR) AS user, CAST(item AS VARCHAR) AS item, place FROM {lists})
JOIN user_numbers USING (user) JOIN item_numbers USING (item)
WHERE place <= {k} ORDER BY ALL
"""
_ALL = 1 << 40  # places: the whole list


def swap_results(evidence: Evidence) -> dict[tuple[str, str], Swapped]:
    """(label, model) -> the test of the model against the baseline, where both were trained once."""
    asked = evidence.asked
    how = {"resamples": asked.resamples, "seed": asked.seed}
    return {
        (label, lists.model): test
        for lists in _lists_of(evidence, asked.labels, list(evidence.models))
        for label, test in swap_tests(
            lists.shown, lists.baseline, lists.measures, items=lists.items, k=lists.k, **how
        ).items()
    }


def swap_intervals(
    evidence: Evidence, labels: Sequence[Label], models: Sequence[str]
) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    """(label, model) -> the jackknife's interval of the model minus the baseline, of those labels over all users."""
    return {
        (label, lists.model): (or_none(low), or_none(high))
        for lists in _lists_of(evidence, labels, models)
        for label, (low, high) in jackknife_intervals(
            lists.shown,
            lists.baseline,
            lists.measures,
            items=lists.items,
            k=lists.k,
            confidence=evidence.asked.confidence,
        ).items()
    }


@dataclass(frozen=True)
class _Lists:
    """What a model and the baseline show at one cutoff, and the labels that read it."""

    model: str
    shown: Shown
    baseline: Shown
    measures: Mapping[str, Measure]
    items: Items
    k: int | None


def _lists_of(
    evidence: Evidence, labels: Sequence[Label], models: Sequence[str]
) -> Iterator[_Lists]:
    """Each of the models against the baseline at each cutoff of the labels over all users."""
    asked = evidence.asked
    once = {model: found for model, found in evidence.models.items() if not found.trainings}
    names = list(once)
    of_catalogue = [label for label in labels if label.metric.of_catalogue]
    others = [model for model in models if model != asked.baseline and model in once]
    if not of_catalogue or not others or asked.baseline not in once:
        return
    with _numbered(once, evidence.ground) as connection:
        items = number_items(connection, None)
        owner = _owner(connection, asked.conventions)
        for read, group in _alike(of_catalogue, asked.conventions).items():
            measures = {str(label): _measure(label, asked.conventions) for label in group}
            find = partial(_shown, connection, read=read, items=items, owner=owner)
            ours = find(_view(names, asked.baseline))
            for model in others:
                yield _Lists(model, find(_view(names, model)), ours, measures, items, read.k)


class _Read(NamedTuple):
    """What a label reads: the cutoff, and which of the rankings."""

    k: int | None
    ranking: int

    @classmethod
    def of(cls, label: Label, pinned: Conventions) -> Self:
        return cls(label.k, label.ranking_number(pinned))


def _alike(labels: Sequence[Label], pinned: Conventions) -> Mapping[_Read, list[Label]]:
    """Labels by what they read."""
    groups: dict[_Read, list[Label]] = {}
    for label in labels:
        groups.setdefault(_Read.of(label, pinned), []).append(label)
    return groups


def _measure(label: Label, pinned: Conventions) -> Measure:
    own = label.conventions(pinned)
    return partial(
        label.metric.function, **{knob: getattr(own, knob) for knob in label.metric.knobs}
    )


@contextmanager
def _numbered(models: Models, ground: Ground) -> Iterator[DuckDBPyConnection]:
    """A view of each model's lists, `lists` with all of them, `train` and `items`, and the numbers of users."""
    tables = [evaluated.lists for evaluated in models.values()]
    with ground.connecting(files(tables)) as connection:
        for number, lists in enumerate(tables):
            ranking = "ranking" if "ranking" in schema(lists) else "0 AS ranking"
            view(connection, f"table_{number}", lists)
            connection.execute(
                f"CREATE VIEW lists_of_{number} AS SELECT user, item, rank, {ranking} FROM table_{number}"
            )
        every = " UNION ALL ".join(
            f"SELECT CAST(user AS VARCHAR) AS user, CAST(item AS VARCHAR) AS item FROM lists_of_{number}"
            for number in range(len(tables))
        )
        connection.execute(f"CREATE VIEW lists AS {every}")
        nothing = pl.DataFrame(schema={"user": pl.String, "item": pl.String})
        for name, table in (("train", ground.train), ("items", ground.items)):
            view(connection, name, nothing if table is None else whole(table))
        connection.execute(_USER_NUMBERS)
        yield connection


def _view(models: Sequence[str], model: str) -> str:
    """A name of our own: DuckDB does not tell `ALS` from `als`, and `lists` is taken."""
    return f"lists_of_{models.index(model)}"


def _owner(connection: DuckDBPyConnection, pinned: Conventions) -> Ints | None:
    """The number of whose request each user number is; None where they are users."""
    if pinned.unit_mean is None:
        return None
    units = connection.sql("SELECT user FROM user_numbers ORDER BY user_number").pl()["user"]
    return Clusters.of(units, pinned.unit_mean).user


def _shown(
    connection: DuckDBPyConnection, view: str, *, read: _Read, items: Items, owner: Ints | None
) -> Shown:
    lists = closed_up(f"(SELECT * FROM {view} WHERE ranking = {read.ranking})")
    rows = fetch(connection, _SHOWN.format(lists=lists, k=_ALL if read.k is None else read.k))
    return Shown(rows["user_number"], rows["item_number"], owner)
