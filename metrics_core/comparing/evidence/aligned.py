"""Users' values of all models with the same user in the same place, read one label at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from concord.metrics_core.checking.relations import Table, column
from concord.metrics_core.metrics.judged import Floats

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Aligned:
    """`users` in their places; `places` says where each row of a model's table belongs, None if that is where it stands."""

    tables: Mapping[str, Table]
    places: Mapping[str, Places | None]
    users: pl.Series

    def values(self, label: str, undefined: str) -> dict[str, Floats]:
        """Model -> (users,) values that count in the mean under the policy `undefined`; NaN for users who do not."""
        return {model: self.column(model, label, undefined) for model in self.tables}

    def column(self, model: str, label: str, undefined: str) -> Floats:
        """Those of one model."""
        found = column(self.tables[model], label)
        if undefined == "zero":
            found = found.fill_nan(0.0)
        elif undefined == "propagate" and found.is_nan().any():
            found = pl.repeat(np.nan, len(found), eager=True)
        counted: Floats = found.fill_null(np.nan).to_numpy()
        places = self.places[model]
        if places is None:
            return counted
        placed = np.full(len(self.users), np.nan)
        placed[places] = counted
        return placed


def align(tables: Mapping[str, Table]) -> Aligned:
    """The users of all models in the order of the first one's table; ids of different types meet as decimal text."""
    users = {model: column(table, "user") for model, table in tables.items()}
    first, *others = users.values()
    if all(first.dtype == other.dtype and first.equals(other) for other in others):
        return Aligned(tables, dict.fromkeys(tables), first)
    texts = {model: known.cast(pl.String) for model, known in users.items()}
    every = pl.concat(texts.values()).unique().sort()
    index = pl.DataFrame({"user": every, "place": np.arange(len(every))})
    return Aligned(tables, {model: _places(text, index) for model, text in texts.items()}, every)


def _places(users: pl.Series, index: pl.DataFrame) -> Any:
    found = users.to_frame("user").join(index, on="user", how="left", maintain_order="left")
    return found["place"].to_numpy()
