"""The lists that a retriever returned, with the time of each query."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from concord.metrics_core.results.base import BaseResult

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, repr=False)
class RetrievalRun(BaseResult):
    """The lists that a retriever returned; a table that `evaluate` and `compare` take.

    Its `repr` counts distinct documents per query: a document with several chunks once.

    Attributes
    ----------
    recommendations : DataFrame
        user (the query), item (the document), rank, and score if each document has one. Chunks of
        one document are rows of the same item.
    latencies : DataFrame
        user and seconds: the time of each query. `compare_values` of runs compares them.

    Examples
    --------
    >>> import concord as cc
    >>> bm25 = cc.collect(lambda query: ["d1", "d2"], ["reset", "refund"])
    >>> dense = cc.collect(lambda query: ["d2", "d1"], ["reset", "refund"])
    >>> truth = {"reset": ["d1"], "refund": ["d2"]}
    >>> comparison = cc.compare(
    ...     {"bm25": bm25, "dense": dense}, truth, metrics=["RR@10"], baseline="bm25"
    ... )
    >>> times = cc.compare_values({"bm25": bm25, "dense": dense}, baseline="bm25")
    """

    recommendations: "pl.DataFrame"
    latencies: "pl.DataFrame"

    def to_frame(self) -> "pl.DataFrame":
        """Return the recommendations."""
        return self.recommendations

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the recommendations as an Arrow C stream."""
        return self.recommendations.__arrow_c_stream__(requested_schema)
