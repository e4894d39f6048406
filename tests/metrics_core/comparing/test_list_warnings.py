"""Warnings on lists and truth, through `concord.compare` and `concord.evaluate`."""

from typing import Any

import polars as pl

import concord as cc

OPTIONS: dict[str, Any] = {"metrics": ["nDCG@10"], "conventions": "standard"}


def _kinds(found: cc.Comparison | cc.Result) -> set[str]:
    return {each.kind for each in found.warnings}


def _reranked(n_queries: int = 20) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return ten candidates a query from a first stage, in two orders, and the one relevant document of each."""
    first = {f"q{n}": [f"d{n}-{i}" for i in range(10)] for n in range(n_queries)}
    turned = {query: docs[::-1] for query, docs in first.items()}
    return {"first": first, "again": turned}, {query: [docs[n % 10]] for n, (query, docs) in enumerate(first.items())}  # fmt: skip


def test_lists_that_are_ranked_again_do_not_look_sampled() -> None:
    models, truth = _reranked()
    found = cc.compare(models, truth, baseline="first", **OPTIONS)
    assert "sampled_candidates" not in _kinds(found)
    assert "sampled_candidates" not in found.checked


def test_lists_look_sampled_where_the_catalogue_is_known_to_be_larger() -> None:
    models, truth = _reranked()
    items = pl.DataFrame({"item": [doc for docs in models["first"].values() for doc in docs]})
    found = cc.compare(models, truth, baseline="first", items=items, **OPTIONS)
    assert "sampled_candidates" in _kinds(found)
