"""A model that gives every candidate the same score, under mteb's old and new order of ties.

python examples/published/mteb_ties.py

The published means, in mteb_ties.csv, are those of WebLINXCandidatesReranking (test_iid) in
embeddings-benchmark/mteb, issue 5092. The lists here have their form: the positive is the first
row of each query, and trec_eval's order of equal scores, by id, puts it last.
"""

from pathlib import Path

import polars as pl

import concord as cc
from concord.typing import PresetName

QUERIES = [f"q{query}" for query in range(100)]
CANDIDATES = [f"d{candidate:02}" for candidate in range(20)]
POSITIVE = CANDIDATES[0]
PRESETS: tuple[PresetName, ...] = ("mteb_old_ties", "mteb")
PUBLISHED = Path(__file__).with_suffix(".csv")


def main() -> None:
    """Print the published means beside those of both presets, and the warnings."""
    rows = [(query, candidate, 0.5) for query in QUERIES for candidate in CANDIDATES]
    recs = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    truth = {query: [POSITIVE] for query in QUERIES}
    for preset in PRESETS:
        print(f"{preset}:")
        print(cc.verify({"constant": recs}, truth, PUBLISHED, conventions=preset))
        result = cc.evaluate(recs, truth, metrics=["RR@10"], conventions=preset)
        print(*(f"warning: {warning.code}" for warning in result.warnings), sep="\n")


if __name__ == "__main__":
    main()
