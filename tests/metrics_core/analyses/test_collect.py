"""Lists and times are collected from functions and from objects of retrieval libraries."""

from collections.abc import Callable
from dataclasses import replace
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
        [("d2", None), ("d1", 0.5)],
        [("d2", float("nan")), ("d1", None)],
        iter([{"id": "d2"}, {"id": "d1", "score": 0.5}]),  # one has no score
        [  # documents of LangChain
            SimpleNamespace(id=None, metadata={"id": "d2"}),
            SimpleNamespace(id=None, metadata={"id": "d1"}),
        ],
    ],
)
def test_documents_without_scores_have_ranks(result: Any) -> None:
    assert _items(result) == [("q1", "d2", 1), ("q1", "d1", 2)]


CHUNK = SimpleNamespace(id="7f3a", metadata={"id": "d1", "doc": {"key": 5}, "chunk_of": "d9"})


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("id", "7f3a"),
        ("metadata.id", "d1"),
        ("metadata.doc.key", "5"),
        ("doc.key", "5"),
        (lambda document: document.metadata["chunk_of"], "d9"),
    ],
)
def test_the_id_is_a_key_a_path_or_a_function(id: Any, expected: str) -> None:
    assert _items([(CHUNK, 0.5)], id=id) == [("q1", expected, 1, 0.5)]
    assert _items([{"metadata.id": "d2"}], id="metadata.id") == [("q1", "d2", 1)]
    assert _items(["d1#3", np.int64(4)], id=lambda text: str(text).split("#")[0]) == [
        ("q1", "d1", 1),
        ("q1", "4", 2),
    ]


@pytest.mark.parametrize(
    ("id", "message"),
    [
        (None, "id: is None"),
        ("", "id: is ''"),
        ("metadata", "query 'q1': result 1: its 'metadata' is dict, not text or an integer"),
        ("metadata.key", "query 'q1': result 1: SimpleNamespace has no 'metadata.key'; it has id"),
        (lambda _: 0.5, "query 'q1': result 1: .*`id` returned is float, not text or an integer"),
        (
            lambda document: document.metadata["a"],
            "query 'q1': result 1: the function `id` raised KeyError: 'a'",
        ),
    ],
)
def test_an_invalid_id_is_refused(id: Any, message: str) -> None:
    with pytest.raises(cc.InputError, match=f"(?s)^{message}.*fix: "):
        _items([CHUNK], id=id)


def test_scores_by_document_are_sorted_before_the_cut() -> None:
    run = cc.collect(lambda _: {"a": 0.1, "b": 0.9, "c": 0.5}, ["q"], k=2)
    assert run.recommendations.rows() == [("q", "b", 1, 0.9), ("q", "c", 2, 0.5)]


@pytest.mark.parametrize("k", [0, -1, 2.0, "10", True])
def test_k_is_a_positive_whole_number(k: Any) -> None:
    with pytest.raises(cc.InputError, match="write a whole number, 1 or more"):
        cc.collect(lambda _: ["a"], ["q"], k=k)


def test_a_returned_frame_is_no_list_of_documents() -> None:
    frame = pl.DataFrame({"docno": ["a"], "score": [1.0]})
    with pytest.raises(cc.InputError, match="returned DataFrame, not a list") as raised:
        cc.collect(lambda _: frame, ["q"])
    assert "rows as dicts" in str(raised.value)


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


def test_ids_of_a_frame_that_are_whole_numbers_are_those_of_the_ground_truth() -> None:
    queries = pl.DataFrame({"qid": [1, None], "query": ["reset", "x"]}).to_pandas().dropna()
    run = cc.collect(lambda _: ["d1"], queries)  # pandas made 1.0 of 1
    assert run.recommendations["user"].to_list() == ["1"]


def test_runs_are_evaluated_and_compared_with_their_times() -> None:
    runs = {
        "good": cc.collect(lambda query: ["d1" if query == "reset" else "d2"], QUERIES),
        "poor": cc.collect(lambda query: ["d2", "d1"] if query == "reset" else [], QUERIES),
    }

    comparison = cc.compare(runs, TRUTH, metrics=["RR@10"], baseline="poor", panel=False)
    means = {row["model"]: row["mean"] for row in comparison.to_dict()["scores"]}
    assert means == {"good": 1.0, "poor": (1 / 2 + 0) / 2}
    assert comparison.words == {"user": "query", "item": "document"}
    assert cc.evaluate(runs["good"], TRUTH, metrics=["RR@10"]).words == comparison.words


def _timed(*seconds: float) -> cc.RetrievalRun:
    run = cc.collect(lambda _: ["d1"], [f"q{n}" for n in range(len(seconds))])
    return replace(run, latencies=run.latencies.with_columns(seconds=pl.Series(seconds)))


def test_times_of_runs_are_compared_and_less_is_better() -> None:
    runs = {"slow": _timed(*[2.0, 2.5, 3.0] * 15), "quick": _timed(*[1.0, 1.2, 1.1] * 15)}

    times = cc.compare_values(runs, baseline="slow")
    assert times.differences["verdict"].to_list() == ["better"]
    assert times.words == {"user": "query"}
    assert not times.warnings
    chosen = cc.compare_values(runs, baseline="slow", higher_is_better={"seconds": True})
    assert chosen.differences["verdict"].to_list() == ["worse"]
    tables = {name: run.latencies for name, run in runs.items()}
    unclear = cc.compare_values(tables, baseline="slow").warnings
    assert [each.code for each in unclear] == ["direction_unclear"]


def test_the_text_of_a_run_counts_chunks_and_documents() -> None:
    run = cc.collect(lambda query: ["d1", "d1", "d2"] if query == "reset" else ["d1"], QUERIES)
    assert str(run).startswith(
        "2 queries, 4 results\ndistinct documents of a query: mean 1.5\ntime of a query: median "
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"words": {"user": "user", "item": "item"}}, None),
        ({"words": {"user": "question"}}, {"user": "question"}),
        (
            {"columns": {"truth": {"user": "qid", "item": "passage_id"}}},
            {"user": "query", "item": "passage"},
        ),
    ],
)
def test_other_words_take_precedence_over_those_of_a_run(
    options: dict[str, Any], words: dict[str, str] | None
) -> None:
    run = cc.collect(lambda _: ["d1"], QUERIES)
    truth: Any = {"q1": ["d1"]}
    if "columns" in options:
        truth = pl.DataFrame({"qid": ["q1"], "passage_id": ["d1"]})
    assert cc.evaluate(run, truth, metrics=["RR@10"], **options).words == words


GOLDEN = [
    {"id": "q1", "question": "reset", "relevant_ids": ["d1"]},
    {"id": "q2", "question": "refund", "relevant_ids": ["d2"]},
]


def test_a_golden_set_is_a_frame_or_becomes_dicts() -> None:
    run = cc.collect(lambda query: ["d1" if query == "reset" else "d3"], pl.DataFrame(GOLDEN))
    names: Any = {"user": "id", "item": "relevant_ids"}  # of the ground truth alone

    result = cc.evaluate(run, pl.DataFrame(GOLDEN), metrics=["RR@10"], columns=names)
    assert result["RR@10"] == 1 / 2
    message = r"(?s)^truth: is a list of dicts with the keys id, question, relevant_ids.*fix: "
    with pytest.raises(cc.InputError, match=message):
        cc.evaluate(run, GOLDEN, metrics=["RR@10"])


def test_chunks_of_a_document_are_left_to_the_conventions() -> None:
    run = cc.collect(lambda _: ["d2", "d2", "d1"], ["q1"])
    with pytest.raises(cc.InputError, match="the item occurs more than once in the list"):
        cc.evaluate(run, TRUTH, metrics=["RR@10"])

    conventions = cc.preset("standard", duplicates="drop")
    assert cc.evaluate(run, {"q1": ["d1"]}, metrics=["RR@10"], conventions=conventions)[
        "RR@10"
    ] == pytest.approx(1 / 2)


async def _waits(_: object) -> list[str]:
    return ["d1"]


def _fails(_: object) -> list[str]:
    msg = "no answer"
    raise TimeoutError(msg)


@pytest.mark.parametrize(
    ("retriever", "queries", "message"),
    [
        (_fails, QUERIES, "query 'q1': the retriever raised TimeoutError: no answer"),
        (lambda _: None, QUERIES, "query 'q1': the retriever returned NoneType, not a list of"),
        (lambda _: b"d1", QUERIES, "query 'q1': the retriever returned bytes, not a list of"),
        (lambda _: "d1", QUERIES, "query 'q1': the retriever returned str, not a list of"),
        (_waits, QUERIES, "query 'q1': the retriever returned coroutine, not a list of"),
        (
            lambda _: {"answer": "Yes.", "context": ["d1"]},
            QUERIES,
            "query 'q1': the retriever returned a dict with answer, context, not a list of",
        ),
        (lambda _: [True], QUERIES, "query 'q1': result 1: it is bool, not text or an integer"),
        (
            lambda _: [{"source": 1}],
            QUERIES,
            "query 'q1': result 1: dict has no 'id'; it has source",
        ),
        (SimpleNamespace(), QUERIES, "retriever: SimpleNamespace has no method invoke or retrieve"),
        (list, pl.DataFrame({"qid": ["a", None], "query": ["x", "y"]}), "queries: row 2: has no"),
        (list, pl.DataFrame({"qid": [1.5, float("nan")], "query": ["x", "y"]}), "queries: row 2:"),
        (
            list,
            pl.DataFrame({"qid": [None, 1], "query": ["x", "y"]}).to_pandas(),
            "queries: row 1: has no id",
        ),
        (list, {None: "x"}, "queries: row 1: has no id"),
        (list, ["a", "a"], "queries: 'a' occurs more than once"),
        (list, pl.DataFrame({"qid": ["a"], "id": ["b"], "text": ["c"]}), "queries: has 2 of the"),
        (list, "reset", "queries: str is not a frame"),
        (
            list,
            [{"id": "q1", "question": "reset"}],
            "queries: is a list of dicts with the keys id, question",
        ),
    ],
)
def test_a_failure_names_the_query_and_the_fix(
    retriever: Callable[[Any], Any], queries: Any, message: str
) -> None:
    with pytest.raises(cc.InputError, match=f"(?s)^{message}.*fix: "):
        cc.collect(retriever, queries)
