"""Types of arguments that hold or describe tables; `tests/test_typing.py` checks the names."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict


class ArrowFrame(Protocol):
    """A frame that Arrow reads: of polars, pyarrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the frame as an Arrow C stream."""


class FrameWithColumns(Protocol):
    """A frame with named columns: a pandas or Spark DataFrame, or a polars LazyFrame."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""


Data = ArrowFrame | FrameWithColumns | str | Path | Mapping[Any, Any]
Truth = Data | Sequence[Data]  # the ground truth, then tables with more judgements


class TableColumns(TypedDict, total=False):
    """Column names, such as {"user": "userId"} for all tables or {"recs": {"user": "userId"}}.

    Names of one table have precedence. The columns of `items` include those that own metrics read.
    """

    user: str
    item: str
    rank: str
    score: str
    grade: str
    recs: Mapping[Literal["user", "item", "rank", "score"], str]
    truth: Mapping[
        Literal["user", "item", "grade", "time", "propensity", "predicted", "subtopic"], str | None
    ]
    train: Mapping[Literal["user", "item", "time"], str]
    items: Mapping[str, str]
    users: Mapping[Literal["user"], str]


ModelColumns = (
    TableColumns | Mapping[str, str | Mapping[str, str | None]]
)  # of several models by name


Value = str | int | float | bool
Where = Mapping[str, Value | Mapping[str, Value]]  # column -> value, or table -> column -> value


class SplitColumns(TypedDict, total=False):
    """Column names of the table that `split` reads."""

    interactions: Mapping[Literal["user", "item", "time", "grade"], str | None]


class PolicyOptions(TypedDict, total=False):
    """Policies for unusual content, as the argument `input` takes them."""

    rank_base: Literal[0, 1]
    empty_lists: Literal["error", "keep"]
    nan_score: Literal["error", "last"]
    negative_grade: Literal["error", "zero", "unjudged", "pooled"]
    repeated_grade: Literal["error", "first", "highest"]
    unknown_items: Literal["error", "keep"]
