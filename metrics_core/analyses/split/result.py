"""The result of `split`: train, truth and a manifest."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from concord.metrics_core.results.base import BaseResult

if TYPE_CHECKING:
    import polars as pl

# A latest time between these (the years 1973 and 5138) is in seconds since 1970.
_MIN_SECONDS, _MAX_SECONDS = 1e8, 1e11


def is_in_seconds(time: float) -> bool:
    """True if the latest time of data is in seconds since 1970, not in days or milliseconds."""
    return _MIN_SECONDS <= time < _MAX_SECONDS


@dataclass(frozen=True, repr=False)
class Split(BaseResult):
    """Train and truth of interactions.

    Attributes
    ----------
    train, truth : polars.DataFrame
        user, item, time and, if there is one, grade; sorted by user, time and item.
    manifest : dict
        Input, method, rows, users, items and times of each side, and how many rows are on no side,
        by reason. The content of manifest.json.

    Examples
    --------
    >>> import concord as cc
    >>> import polars as pl
    >>> clicks = pl.DataFrame({"user": [1, 1, 2], "item": [10, 11, 10], "time": [1, 2, 3]})
    >>> split = cc.data.split(clicks, "leave-last-out")
    >>> split.train.rows(), split.truth.rows()
    ([(1, 10, 1.0), (2, 10, 3.0)], [(1, 11, 2.0)])
    """

    train: "pl.DataFrame"
    truth: "pl.DataFrame"
    manifest: Mapping[str, Any]

    def to_frame(self) -> "pl.DataFrame":
        """Return side, rows, users, items, first and last time; one row per side."""
        import polars as pl

        rows = [
            {"side": file.removesuffix(".parquet"), **counts}
            for file, counts in self.manifest["files"].items()
        ]
        return pl.DataFrame(rows, schema_overrides={"first": pl.Float64, "last": pl.Float64})
