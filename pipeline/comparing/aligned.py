"""Users' values of all models with the same user in the same place, read one label at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Aligned:
    """`users` in their places; `places` says where each row of a model's file belongs, None if that is where it stands."""

    paths: Mapping[str, Path]
    places: Mapping[str, Places | None]
    users: pl.Series

    @property
    def n_users(self) -> int:
        return len(self.users)

    def values(self, label: str, undefined: str) -> dict[str, Floats]:
        """Model -> (users,) values that count in the mean under the policy `undefined`; NaN for users who do not."""
        return {model: self._column(model, label, undefined) for model in self.paths}

    def _column(self, model: str, label: str, undefined: str) -> Floats:
        path = self.paths[model]
        column = pl.read_parquet(path, columns=[label], glob=False)[label]
        if undefined == "zero":
            column = column.fill_nan(0.0)
        elif undefined == "propagate" and column.is_nan().any():
            column = pl.repeat(np.nan, len(column), eager=True)
        counted: Floats = column.fill_null(np.nan).to_numpy()
        places = self.places[model]
        if places is None:
            return counted
        placed = np.full(self.n_users, np.nan)
        placed[places] = counted
        return placed


def align(paths: Mapping[str, Path]) -> Aligned:
    """The users of all models in the order of the first one's file; ids of different types meet as decimal text."""
    first, *others = paths.values()
    users = _users(first)
    if all(_same(users, _users(path)) for path in others):
        return Aligned(paths, dict.fromkeys(paths), users)
    texts = {model: _users(path).cast(pl.String) for model, path in paths.items()}
    every = pl.concat(texts.values()).unique().sort()
    index = pl.DataFrame({"user": every, "place": np.arange(len(every))})
    return Aligned(paths, {model: _places(text, index) for model, text in texts.items()}, every)


def _users(path: Path) -> pl.Series:
    return pl.read_parquet(path, columns=["user"], glob=False)["user"]


def _same(one: pl.Series, other: pl.Series) -> bool:
    return one.dtype == other.dtype and one.equals(other)


def _places(users: pl.Series, index: pl.DataFrame) -> Any:
    found = users.to_frame("user").join(index, on="user", how="left", maintain_order="left")
    return found["place"].to_numpy()
