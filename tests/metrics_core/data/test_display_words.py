"""Words that texts show, by the format and the columns of the ground truth."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc

SEARCH = {"user": "query", "item": "document"}
LISTS = {"a": {"q1": ["d1", "d2"]}, "b": {"q1": ["d2", "d1"]}}


def compare(truth: Any, **options: Any) -> Mapping[str, str] | None:
    """Return the words of a comparison."""
    return cc.compare(LISTS, truth, metrics=["RR@2"], baseline="a", panel=False, **options).words


@pytest.mark.parametrize(
    ("user", "item", "words"),
    [
        ("qid", "docno", SEARCH),
        ("query-id", "corpus-id", SEARCH),
        ("query_id", "passage_id", {"user": "query", "item": "passage"}),
        ("query_id", "product_id", {"user": "query"}),
        ("user_id", "doc_id", None),
        ("user", "item", None),
    ],
)
def test_columns_of_the_ground_truth_suggest_the_words(
    user: str, item: str, words: dict[str, str] | None
) -> None:
    truth = pl.DataFrame({user: ["q1"], item: ["d1"]})

    assert compare(truth, columns={"truth": {"user": user, "item": item}}) == words


def test_qrels_have_queries_and_documents_unless_other_words_are_set(tmp_path: Path) -> None:
    qrels = tmp_path / "truth.qrels"
    qrels.write_text("q1 0 d1 1\n")

    assert compare(qrels) == SEARCH
    other = {"user": "query", "item": "passage"}

    assert compare(qrels, words=other) == other
    assert compare(qrels, words={"user": "user", "item": "item"}) is None


def test_values_have_the_words_that_are_set() -> None:
    values = {"a": {"RR": {"q1": 0.5, "q2": 1}}, "b": {"RR": {"q1": 1, "q2": 1}}}

    comparison = cc.compare_values(values, baseline="a", words={"user": "query"})

    assert "2 queries" in str(comparison.to_latex())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("query", "is 'query'"),
        ({"query": "user"}, "has the key 'query'"),
        ({"user": "a<b"}, "has 'a<b' for user"),
        ({"user": "power users"}, "has 'power users' for user"),
        ({"user": "queries"}, "has 'queries' for user"),
        ({"item": "documents"}, "has 'documents' for item"),
        ({"user": "text", "item": "Text"}, "has one word for two of user, item and request"),
    ],
)
def test_invalid_words_are_refused(words: Any, message: str) -> None:
    with pytest.raises(cc.InputError, match=f"^words {re.escape(message)}|words: {message}"):
        compare({"q1": ["d1"]}, words=words)
