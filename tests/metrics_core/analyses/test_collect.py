"""Lists and times are collected from functions and from objects of retrieval libraries."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc

QUERIES = {"q1": "reset", "q2": "refund"}
TRUTH = {"q1": ["d1"], "q2": ["d2"]}
SCORED = [("q1", "d2", 1, 1.5), ("q1", "d1", 2, 0.5)]


def _items(result: Any, **options: Any) -> list[tuple[Any, ...]]:
    run = cc.collect(lambda _: result, {"q1": "reset"}, **options)
    return run.recommendations.rows()


@pytest.mark.parametrize(
    "result",
    [
        [("d2", 1.5), ("d1", 0.5)],
        {"d2": 1.5, "d1": np.float32(0.5)},
        [{"id": "d2", "score": 1.5}, {"id": "d1", "score": 0.5}],
        [(SimpleNamespace(id="d2"), 1.5), (SimpleNamespace(id="d1"), 0.5)],
        [  # nodes of LlamaIndex
            SimpleNamespace(score=1.5, node=SimpleNamespace(id="d2")),
            SimpleNamespace(score=0.5, node=SimpleNamespace(metadata={"id": "d1"})),
        ],
    ],
)
def test_documents_are_read_with_their_scores(result: Any) -> None:
    assert _items(result) == SCORED


@pytest.mark.parametrize(
    "result",
    [
        ["d2", "d1"],
        iter([{"id": "d2"}, {"id": "d1", "score": 0.5}]),  # one has no score
        [  # documents of LangChain
            SimpleNamespace(id=None, metadata={"id": "d2"}),
            SimpleNamespace(id=None, metadata={"id": "d1"}),
        ],
    ],
)
def test_documents_without_scores_have_ranks(result: Any) -> None:
    assert _items(result) == [("q1", "d2", 1), ("q1", "d1", 2)]


def test_k_documents_are_kept_and_ids_are_found_by_another_name() -> None:
    documents = [SimpleNamespace(metadata={"source": number}) for number in (7, 8, 9)]
    assert _items(documents, k=2, id="source") == [("q1", "7", 1), ("q1", "8", 2)]


@pytest.mark.parametrize("method", ["invoke", "retrieve"])
def test_an_object_with_the_method_of_a_library_is_a_retriever(method: str) -> None:
    retriever = SimpleNamespace(**{method: lambda query: [query.upper()]})
    assert cc.collect(retriever, ["a", "b"]).recommendations.rows() == [
        ("a", "A", 1),
        ("b", "B", 1),
    ]


@pytest.mark.parametrize(
    "queries",
    [
        QUERIES,
        pl.DataFrame({"qid": ["q1", "q2"], "query": ["reset", "refund"]}),
        pl.DataFrame({"_id": ["q1", "q2"], "text": ["reset", "refund"]}).to_arrow(),
        pl.DataFrame({"query_id": ["q1", "q2"], "question": ["reset", "refund"]}).to_pandas(),
    ],
)
def test_queries_are_a_dict_or_a_frame(queries: Any) -> None:
    rows = cc.collect(lambda query: [query], queries).recommendations.rows()
    assert rows == [("q1", "reset", 1), ("q2", "refund", 1)]


def test_runs_are_evaluated_and_compared_with_their_times() -> None:
    runs = {
        "good": cc.collect(lambda query: ["d1" if query == "reset" else "d2"], QUERIES),
        "poor": cc.collect(lambda query: ["d2", "d1"] if query == "reset" else [], QUERIES),
    }

    comparison = cc.compare(runs, TRUTH, metrics=["RR@10"], baseline="poor", panel=False)
    means = {row["model"]: row["mean"] for row in comparison.to_dict()["leaderboard"]}
    assert means == {"good": 1.0, "poor": (1 / 2 + 0) / 2}
    times = {name: run.latencies for name, run in runs.items()}
    slower = cc.compare_values(times, baseline="poor", higher_is_better={"seconds": False})
    assert slower.differences["n_users"].to_list() == [2]
    assert str(runs["poor"]).startswith("2 queries, 2 documents\ntime of a query: median ")


def test_chunks_of_a_document_are_left_to_the_conventions() -> None:
    run = cc.collect(lambda _: ["d2", "d2", "d1"], ["q1"])
    with pytest.raises(cc.InputError, match="the item occurs more than once in the list"):
        cc.evaluate(run, TRUTH, metrics=["RR@10"])

    conventions = cc.preset("standard", duplicates="drop")
    assert cc.evaluate(run, {"q1": ["d1"]}, metrics=["RR@10"], conventions=conventions)[
        "RR@10"
    ] == pytest.approx(1 / 2)


def _fails(_: object) -> list[str]:
    msg = "no answer"
    raise TimeoutError(msg)


@pytest.mark.parametrize(
    ("retriever", "queries", "message"),
    [
        (_fails, QUERIES, "query 'q1': the retriever raised TimeoutError: no answer"),
        (lambda _: None, QUERIES, "query 'q1': .* it returned NoneType, not a list of documents"),
        (lambda _: "d1", QUERIES, "query 'q1': .* it returned str, not a list of documents"),
        (
            lambda _: [{"source": 1}],
            QUERIES,
            "query 'q1': result 1: dict has no 'id'; it has source",
        ),
        (SimpleNamespace(), QUERIES, "retriever: SimpleNamespace has no method invoke or retrieve"),
        (list, ["a", "a"], "queries: 'a' occurs more than once"),
        (list, pl.DataFrame({"qid": ["a"], "id": ["b"], "text": ["c"]}), "queries: has 2 of the"),
        (list, "reset", "queries: str is not a frame"),
    ],
)
def test_a_failure_names_the_query_and_the_fix(
    retriever: Callable[[Any], Any], queries: Any, message: str
) -> None:
    with pytest.raises(cc.InputError, match=f"(?s)^{message}.*fix: "):
        cc.collect(retriever, queries)
