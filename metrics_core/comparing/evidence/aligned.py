"""Users' values of all models with the same user in the same place, read one label at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from concord.metrics_core.checking.relations import Table, column
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.statistics.replicates import mean_of_defined

_AT_ONCE = 2  # models whose values are read
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Aligned:
    """`users` in their places; `places` says where each row of a table belongs, None if that is where it stands.

    tables : model -> a table for each of its trainings; a user's value is the mean of those that count
    told   : is called when the values of a label are read, which is what a comparison spends its time on
    """

    tables: Mapping[str, Sequence[Table]]
    places: Mapping[str, Sequence[Places | None]]
    users: pl.Series
    told: Callable[[], None]

    def values(self, label: str, undefined: str) -> dict[str, Floats]:
        """Model -> (users,) values that count in the mean under the policy `undefined`; NaN for users who do not."""
        self.told()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            columns = pool.map(lambda model: self.column(model, label, undefined), self.tables)
            return dict(zip(self.tables, columns, strict=True))

    def column(self, model: str, label: str, undefined: str) -> Floats:
        """Those of one model."""
        rows = self._rows(model, label, undefined)
        first = next(rows)
        return mean_of_defined([first, *rows]) if len(self.tables[model]) > 1 else first

    def trainings(self, model: str, label: str, undefined: str) -> Floats:
        """(trainings, users) those of each training of one model."""
        return np.stack(list(self._rows(model, label, undefined)))

    def _rows(self, model: str, label: str, undefined: str) -> Iterator[Floats]:
        for table, places in zip(self.tables[model], self.places[model], strict=True):
            yield self._placed(table, places, label, undefined)

    def _placed(self, table: Table, places: Places | None, label: str, undefined: str) -> Floats:
        found = column(table, label)
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


def nobody() -> None:
    """Nobody is told."""


def align(tables: Mapping[str, Sequence[Table]], told: Callable[[], None] = nobody) -> Aligned:
    """The users of all tables in the order of the first one; ids of different types meet as decimal text."""
    users = {model: [column(table, "user") for table in held] for model, held in tables.items()}
    first, *others = chain.from_iterable(users.values())
    if all(first.dtype == other.dtype and first.equals(other) for other in others):
        nowhere = {model: [None] * len(held) for model, held in tables.items()}
        return Aligned(tables, nowhere, first, told)
    texts = {model: [each.cast(pl.String) for each in held] for model, held in users.items()}
    every = pl.concat(chain.from_iterable(texts.values())).unique().sort()
    index = pl.DataFrame({"user": every, "place": np.arange(len(every))})
    places = {model: [_places(text, index) for text in held] for model, held in texts.items()}
    return Aligned(tables, places, every, told)


def _places(users: pl.Series, index: pl.DataFrame) -> Any:
    found = users.to_frame("user").join(index, on="user", how="left", maintain_order="left")
    return found["place"].to_numpy()
