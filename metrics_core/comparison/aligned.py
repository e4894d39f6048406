"""Users' values of all models with the same user in the same place, read one label at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from concord.metrics_core.conventions.conventions import Conventions, UnitMean
from concord.metrics_core.data.relations import Table, read_column, schema_of
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.score import mean_weight
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.replicates import mean_of_defined

_AT_ONCE = 2  # models whose values are read
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Aligned:
    """`users` in their places; `places` says where each row of a table belongs, None if that is where it stands.

    tables : model -> a table for each of its trainings; a user's value is the mean of those that count
    told   : is called when the values of a label are read, which is what a comparison spends its time on
    mean   : over what means are taken, where `users` are ids of requests; None where they are those of users
    """

    tables: Mapping[str, Sequence[Table]]
    places: Mapping[str, Sequence[Places | None]]
    users: pl.Series
    told: Callable[[], None]
    mean: UnitMean | None = None

    @cached_property
    def clusters(self) -> Clusters | None:
        """Whose requests they are; None where they are users, or no user has two."""
        found = None if self.mean is None else Clusters.from_ids(self.users, self.mean)
        return None if found is None or found.is_trivial else found

    def whose(self, label: Label, conventions: Conventions) -> Clusters | None:
        """Whose requests a label's values are of, and what each counts in its mean; None where they are users who count alike.

        Raises
        ------
        InputError : the truths of folds let users count differently
        """
        name = mean_weight(label, conventions)
        if name is None:
            return self.clusters
        weights = self._counts(name)
        if weights is None:
            what = "is over_all, and folds with truths of their own let a user count differently in each"
            raise refuse("conventions: propensity.normalised", what, "write per_user")
        return Clusters.weighted(weights, self.clusters)

    def on_one_truth(self, label: Label, conventions: Conventions) -> bool:
        """Does a user count alike in the mean of a label, whoever recommends?"""
        name = mean_weight(label, conventions)
        return name is None or self._counts(name) is not None

    def _counts(self, name: str) -> Floats | None:
        """(users,) what each counts, NaN for who is in no table; None where tables differ in it, or do not say."""
        if any(name not in schema_of(each) for held in self.tables.values() for each in held):
            return None
        if name not in self._known:
            rows = (row for m in self.tables for row in self._rows(m, name, "skip"))
            found = next(rows)
            agreed = True
            for row in rows:
                agreed &= bool(np.all((row == found) | np.isnan(row - found)))
                found = np.fmax(found, row)
            self._known[name] = found if agreed else None
        return self._known[name]

    @cached_property
    def _known(self) -> dict[str, Floats | None]:
        return {}

    @cached_property
    def owners(self) -> pl.Series:
        """The user in each place, as text."""
        return self.users.cast(pl.String) if self.mean is None else users_of_units(self.users)

    def values(self, label: str, undefined: str) -> dict[str, Floats]:
        """Model -> (users,) values that count in the mean under the policy `undefined`; NaN for users who do not."""
        self.told()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            columns = pool.map(lambda model: self.column(model, label, undefined), self.tables)
            return dict(zip(self.tables, columns, strict=True))

    def by_user(self, values: Floats) -> Floats:
        """Values of users as they are; of requests, the mean of each user's that count."""
        return values if self.clusters is None else self.clusters.means(values)

    def column(self, model: str, label: str, undefined: str) -> Floats:
        """Those of one model."""
        rows = self._rows(model, label, undefined)
        first = next(rows)
        return mean_of_defined([first, *rows]) if len(self.tables[model]) > 1 else first

    def trainings(self, model: str, label: str, undefined: str) -> Floats:
        """(trainings, users) those of each training of one model."""
        return np.stack([*self._rows(model, label, undefined)])

    def _rows(self, model: str, label: str, undefined: str) -> Iterator[Floats]:
        for table, places in zip(self.tables[model], self.places[model], strict=True):
            yield self._placed(table, places, label, undefined)

    def _placed(self, table: Table, places: Places | None, label: str, undefined: str) -> Floats:
        found = read_column(table, label)
        if undefined == "zero":
            found = found.fill_nan(0.0)
        elif undefined == "propagate" and found.is_nan().any():
            found = pl.repeat(np.nan, len(found), eager=True)
        counted: Floats = found.fill_null(np.nan).to_numpy()
        if places is None:
            return counted
        placed = np.full(len(self.users), np.nan)
        placed[places] = counted
        return placed


def by_pair(a: Floats, b: Floats, clusters: Clusters | None) -> tuple[Floats, Floats]:
    """Values of two models by user; of requests or weighed users, what each adds to the means over those that both have."""
    return (a, b) if clusters is None else clusters.paired_scores(a, b)


def nobody() -> None:
    """Nobody is told."""


def align(
    tables: Mapping[str, Sequence[Table]],
    told: Callable[[], None] = nobody,
    mean: UnitMean | None = None,
) -> Aligned:
    """The users of all tables in the order of the first one; ids of different types meet as decimal text."""
    users = {
        model: [read_column(table, "user") for table in held] for model, held in tables.items()
    }
    first, *others = chain.from_iterable(users.values())
    if all(first.dtype == other.dtype and first.equals(other) for other in others):
        nowhere = {model: [None] * len(held) for model, held in tables.items()}
        return Aligned(tables, nowhere, first, told, mean)
    texts = {model: [each.cast(pl.String) for each in held] for model, held in users.items()}
    every = pl.concat(chain.from_iterable(texts.values())).unique().sort()
    index = pl.DataFrame({"user": every, "place": np.arange(len(every))})
    places = {model: [_places(text, index) for text in held] for model, held in texts.items()}
    return Aligned(tables, places, every, told, mean)


def _places(users: pl.Series, index: pl.DataFrame) -> Any:
    found = users.to_frame("user").join(index, on="user", how="left", maintain_order="left")
    return found["place"].to_numpy()
