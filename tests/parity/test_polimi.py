"""Metrics of the preset `polimi` that follow from Concord's by a factor, as its page states."""

from math import log2

import polars as pl
import pytest

import concord as cc

TRUTH = {"u": {"a": 1}, "v": {"b": 1}}
LISTS = {"u": ["a", "b"], "v": ["a", "cold"]}
TRAIN = [("u", "b"), ("v", "a"), ("w", "a"), ("x", "a")]  # a: 3 of 4 interactions, b: 1
CATALOGUE = ["a", "b", "c", "cold"]


def test_novelty_average_popularity_and_gini_follow_from_those_of_concord() -> None:
    result = cc.evaluate(
        LISTS,
        TRUTH,
        metrics=["Novelty@2", "ARP@2", "Gini@2"],
        train=pl.DataFrame(TRAIN, schema=["user", "item"], orient="row"),
        items=pl.DataFrame({"item": CATALOGUE}),
        conventions=cc.preset("polimi", novelty_population="interactions", cold_item="zero"),
    )

    k, n = 2, len(CATALOGUE)
    bits = {"a": log2(4 / 3), "b": log2(4)}
    novelty = [(bits["a"] + bits["b"]) / n, bits["a"] / n]
    assert result["Novelty@2"] * k / n == pytest.approx(sum(novelty) / 2)
    popularity = [(3 / 3 + 1 / 3) / 2, (3 / 3 + 0) / 2]
    assert result["ARP@2"] / 3 == pytest.approx(sum(popularity) / 2)
    # counts 0, 1, 1, 2 of c, b, cold and a
    gini_diversity = 2 * (4 / 5 * 0 + 3 / 5 * 1 / 4 + 2 / 5 * 1 / 4 + 1 / 5 * 2 / 4)
    assert 1 - result["Gini@2"] * n / (n + 1) == pytest.approx(gini_diversity)
