"""A model that gives every item the same score, under MLPerf's evaluation of NCF.

python examples/published/ncf_ties.py

Each of 100 users has one positive and 999 other items. The published hit rate is 100 % if the
positive wins ties: mlcommons/training_policies, issue 131, on the evaluation in
hexiangnan/neural_collaborative_filtering and mlcommons/training, which take the ten best by
heapq.nlargest and append the positive last.
"""

import heapq
import math

import polars as pl

import concord as cc
from concord.results import Evaluation

N_ITEMS = 1000
POSITIVES = {f"u{user}": 10 * user + 5 for user in range(100)}
TRUTH = {user: [positive] for user, positive in POSITIVES.items()}
PUBLISHED = 1.0  # hit rate if the positive wins ties
METRICS = ["Hit@10", "nDCG@10"]
RULES = (
    "input",
    "given",
    "item_asc",
    "item_desc",
    "item_text_asc",
    "item_text_desc",
    "average",
    "error",
)


def main() -> None:
    """Print the means of each rule for ties: once the positive is the first row, once the last."""
    print(f"published hit rate if the positive wins ties: {PUBLISHED}")
    print(f"{'':<21}{'positive first':<19}positive last")
    print(f"{'rule':<21}{'Hit@10':<9}{'nDCG@10':<10}{'Hit@10':<9}{'nDCG@10':<10}warning")
    for name, score in (("heapq.nlargest", 0.5), ("heapq.nlargest, NaN", math.nan)):
        cells = [
            f"{mean:<9.4f}"
            for first in (True, False)
            for mean in evaluate_nlargest(score, positive_first=first)
        ]
        print(f"{name:<21}{cells[0]}{cells[1]} {cells[2]}{cells[3]}".rstrip())
    for rule in RULES:
        try:
            first, last = (evaluate(rule, positive_first=each) for each in (True, False))
        except cc.InputError:
            print(f"{rule:<21}InputError")
            continue
        cells = [f"{result[label]:<9.4f}" for result in (first, last) for label in METRICS]
        codes = ", ".join(warning.code for warning in first.warnings)
        print(f"{rule:<21}{cells[0]}{cells[1]} {cells[2]}{cells[3]} {codes}".rstrip())


def order_candidates(positive: int, *, positive_first: bool) -> list[int]:
    """Return the items in the order in which a model scores them."""
    others = [item for item in range(N_ITEMS) if item != positive]
    return [positive, *others] if positive_first else [*others, positive]


def evaluate_nlargest(score: float, *, positive_first: bool) -> tuple[float, float]:
    """Return hit rate and nDCG of the ten best by `heapq.nlargest`."""
    hits = gains = 0.0
    for positive in POSITIVES.values():
        items = order_candidates(positive, positive_first=positive_first)
        best = heapq.nlargest(10, items, key=lambda item: score)
        if positive in best:
            hits += 1
            gains += 1 / math.log2(best.index(positive) + 2)
    return hits / len(POSITIVES), gains / len(POSITIVES)


def evaluate(rule: str, *, positive_first: bool) -> Evaluation:
    """Return Concord's evaluation of the same items and scores."""
    rows = [
        (user, item, 0.5)
        for user, positive in POSITIVES.items()
        for item in order_candidates(positive, positive_first=positive_first)
    ]
    recs = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    conventions = cc.preset("standard", ties=rule)
    return cc.evaluate(recs, TRUTH, metrics=METRICS, conventions=conventions)


if __name__ == "__main__":
    main()
