"""A run of a retriever as text: its size, and the time of its queries."""

from collections.abc import Iterator

import numpy as np

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.retrieval import RetrievalRun
from concord.reports.text.blocks import Block


def describe(run: RetrievalRun) -> Iterator[Block]:
    """Yield the numbers of queries and results, and the median and longest time."""
    times, n_results = run.latencies, len(run.recommendations)
    n_queries = "1 query" if len(times) == 1 else f"{len(times):,} queries"
    yield f"{n_queries}, {format_count(n_results, 'result')}"
    if len(times):
        n_documents = run.recommendations.select("user", "item").n_unique()
        yield f"distinct documents of a query: mean {n_documents / len(times):.3g}"
        slowest, longest = times.sort("seconds", "user", descending=[True, False]).row(0)
        median = float(np.median(times["seconds"].to_numpy()))
        yield f"time of a query: median {median:.3g} s, longest {longest:.3g} s ({slowest})"
