"""Per-user values of several models in one common order of users, read one label at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import polars as pl

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.tables import Table, read_column, schema_of
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.score import mean_weight
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.replicates import mean_of_defined

_THREADS = 2  # that read values


def no_progress() -> None:
    """Do nothing: the default progress callback."""


@dataclass(frozen=True)
class AlignedValues:
    """Per-user values of several models in one common order of users.

    Attributes
    ----------
    tables : dict
        Model -> its tables of values, one per replicate.
        A user's value is the mean over replicates.
    positions : dict
        Model -> for each table, the positions of its rows in `users`; None for the same order.
    users : polars.Series
        Ids of the users, or of requests if `unit_mean` is set.
    on_label_read : callable
        Called when the values of a label are read, which takes most of the time of a comparison.
    unit_mean : {"requests", "users"} or None
        What a mean runs over if values are those of requests; None if they are those of users.
    """

    tables: Mapping[str, Sequence[Table]]
    positions: Mapping[str, Sequence[Ints | None]]
    users: pl.Series
    on_label_read: Callable[[], None] = no_progress
    unit_mean: str | None = None

    @cached_property
    def clusters(self) -> Clusters | None:
        """The users of requests; None if values are per user, or no user has two requests."""
        clusters = None if self.unit_mean is None else Clusters.from_ids(self.users, self.unit_mean)
        return None if clusters is None or not clusters.has_repeated_users else clusters

    def clusters_for(self, label: Label, conventions: Conventions) -> Clusters | None:
        """Return the clusters and weights of a label's values; None if all users count once.

        Raises
        ------
        InputError
            Folds with different ground truths weight a user differently.
        """
        column = mean_weight(label, conventions)
        if column is None:
            return self.clusters
        weights = self._common_weights(column)
        if weights is None:
            problem = "is over_all, but a user's weight differs between the ground truths of folds"
            raise refuse("conventions.propensity.normalised", problem, "write per_user")
        return Clusters.weighted(weights, self.clusters)

    def has_common_weights(self, label: Label, conventions: Conventions) -> bool:
        """True if a user has the same weight in the mean of a label for all models."""
        column = mean_weight(label, conventions)
        return column is None or self._common_weights(column) is not None

    def _common_weights(self, column: str) -> Floats | None:
        """Return the weight of each user, NaN if unknown; None if tables differ or lack it."""
        if any(column not in schema_of(t) for tables in self.tables.values() for t in tables):
            return None
        if column not in self._weights:
            rows = (row for m in self.tables for row in self._rows(m, column, "skip"))
            weights, agree = next(rows), True
            for row in rows:
                agree &= bool(np.all((row == weights) | np.isnan(row - weights)))
                weights = np.fmax(weights, row)
            self._weights[column] = weights if agree else None
        return self._weights[column]

    @cached_property
    def _weights(self) -> dict[str, Floats | None]:
        return {}

    @cached_property
    def user_ids(self) -> pl.Series:
        """The user of each row, as text."""
        return self.users.cast(pl.String) if self.unit_mean is None else users_of_units(self.users)

    def values(self, label: str, undefined: str) -> dict[str, Floats]:
        """Return model -> its values, shape (n_users,); NaN for users who are left out of the mean.

        Parameters
        ----------
        undefined : {"skip", "zero", "propagate"}
            The convention for undefined values.
        """
        self.on_label_read()
        if all(isinstance(table, pl.DataFrame) for each in self.tables.values() for table in each):
            return {model: self.column(model, label, undefined) for model in self.tables}
        with ThreadPoolExecutor(_THREADS) as pool:
            columns = pool.map(lambda model: self.column(model, label, undefined), self.tables)
            return dict(zip(self.tables, columns, strict=True))

    def by_user(self, values: Floats) -> Floats:
        """Return the mean of each user's values; values of users are returned as they are."""
        return values if self.clusters is None else self.clusters.means(values)

    def column(self, model: str, label: str, undefined: str) -> Floats:
        """Return the values of one model."""
        rows = self._rows(model, label, undefined)
        first = next(rows)
        return mean_of_defined([first, *rows]) if len(self.tables[model]) > 1 else first

    def by_replicate(self, model: str, label: str, undefined: str) -> Floats:
        """Return the values of one model, shape (n_replicates, n_users)."""
        return np.stack([*self._rows(model, label, undefined)])

    def _rows(self, model: str, label: str, undefined: str) -> Iterator[Floats]:
        for table, positions in zip(self.tables[model], self.positions[model], strict=True):
            column = read_column(table, label)
            if undefined == "zero":
                column = column.fill_nan(0.0)
            elif undefined == "propagate" and column.is_nan().any():
                column = pl.repeat(np.nan, len(column), eager=True)
            values: Floats = column.cast(pl.Float64).to_numpy()  # null is NaN
            if positions is None:
                yield values
                continue
            row = np.full(len(self.users), np.nan)
            row[positions] = values
            yield row


def paired_scores(a: Floats, b: Floats, clusters: Clusters | None) -> tuple[Floats, Floats]:
    """Return two models' values by user; with clusters, each user's contribution to both means."""
    return (a, b) if clusters is None else clusters.paired_scores(a, b)


def align(
    tables: Mapping[str, Sequence[Table]],
    on_label_read: Callable[[], None] = no_progress,
    unit_mean: str | None = None,
) -> AlignedValues:
    """Return the values of all tables, in the first table's order of users if all tables have it.

    Ids of different types are compared as decimal text.
    """
    users = {m: [read_column(table, "user") for table in each] for m, each in tables.items()}
    first, *others = chain.from_iterable(users.values())
    if all(first.dtype == other.dtype and first.equals(other) for other in others):
        in_order = {model: [None] * len(each) for model, each in tables.items()}
        return AlignedValues(tables, in_order, first, on_label_read, unit_mean)
    texts = {model: [ids.cast(pl.String) for ids in each] for model, each in users.items()}
    common = pl.concat(chain.from_iterable(texts.values())).unique().sort()
    index = pl.DataFrame({"user": common, "position": np.arange(len(common))})
    positions = {
        model: [
            ids.to_frame("user")
            .join(index, on="user", how="left", maintain_order="left")["position"]
            .to_numpy()
            for ids in each
        ]
        for model, each in texts.items()
    }
    return AlignedValues(tables, positions, common, on_label_read, unit_mean)
