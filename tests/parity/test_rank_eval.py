"""The preset `rank_eval` gives the worked examples of Elasticsearch and OpenSearch.

Their module has no package for Python. The examples are those of its tests, which are the same in
both projects, and of the documentation:
https://github.com/opensearch-project/OpenSearch/tree/main/modules/rank-eval/src/test
https://www.elastic.co/guide/en/elasticsearch/reference/current/search-rank-eval.html
"""

import pytest

import concord as cc

# label, ratings of documents (None: unrated), number of them that are hits, value
EXAMPLES = [
    # DiscountedCumulativeGainTests: 7 + 3/log2(3) + 7/2 + 0 + 1/log2(6) + 3/log2(7)
    ("DCG@10", (3, 2, 3, 0, 1, 2), 6, 13.84826362927298),
    ("nDCG@10", (3, 2, 3, 0, 1, 2), 6, 13.84826362927298 / 14.595390756454922),
    ("DCG@10", (3, 2, 3, None, 1, None), 6, 12.779642067948913),
    ("nDCG@10", (3, 2, 3, None, 1, None), 6, 12.779642067948913 / 13.347184833073591),
    # four hits: the best list has four of the rated documents too
    ("DCG@10", (3, 2, 3, None, 1, None), 4, 12.392789260714371),
    ("nDCG@10", (3, 2, 3, None, 1, None), 4, 12.392789260714371 / 13.347184833073591),
    # ExpectedReciprocalRankTests, maximum_relevance 3: 7/8 + (1/2) (1/8) (3/8) + …
    ("ERR@3", (3, 2, 0, 1), 4, 0.8984375),
    ("ERR@4", (3, 2, 0, 1), 4, 0.8984375 + 0.00244140625),
    ("ERR@4", (3, None, 0, 1), 4, 0.875 + 0.00390625),
    # documentation, precision: 6 of 10 documents are relevant
    ("P@20", (1, 1, 1, 1, 1, 1, 0, None, None, None), 10, 6 / 10),
    # RecallAtKTests and MeanReciprocalRankTests
    ("R@10", (1, 0, 1, 1), 2, 1 / 3),
    ("RR@10", (None, 0, 1, 1), 4, 1 / 3),
    ("RR@2", (None, 0, 1, 1), 4, 0.0),
]


@pytest.mark.parametrize(("label", "ratings", "n_hits", "value"), EXAMPLES)
def test_rank_eval_gives_the_worked_examples_of_its_source(
    label: str, ratings: tuple[int | None, ...], n_hits: int, value: float
) -> None:
    documents = [f"d{n}" for n in range(len(ratings))]
    rated = {d: grade for d, grade in zip(documents, ratings, strict=True) if grade is not None}

    result = cc.evaluate(
        {"q": documents[:n_hits]},
        {"q": rated},
        metrics=[label],
        conventions=cc.preset("rank_eval", err_max_grade=3),
    )

    assert result[label] == pytest.approx(value, abs=1e-12)


def test_rank_eval_counts_queries_without_hits_or_relevant_documents_as_0() -> None:
    result = cc.evaluate(
        {"found": ["a"], "nothing relevant": ["a"], "no hits": []},
        {"found": {"a": 1}, "nothing relevant": {"a": 0}, "no hits": {"a": 1}},
        metrics=["P@10", "nDCG@10"],
        conventions="rank_eval",
    )

    assert result["P@10"] == result["nDCG@10"] == pytest.approx(1 / 3)
