"""The worked example of Urbano, Lima & Hanjalic (SIGIR 2019): two TREC-8 runs on 50 topics.

python examples/published/urbano2019.py

urbano2019.csv holds their average precision. Source: repository
julian-urbano/sigir2019-statistical, data under CC BY-SA 4.0.
"""

from pathlib import Path

import polars as pl

import concord as cc

VALUES = Path(__file__).with_suffix(".csv")
PUBLISHED = 0.0013193972  # two-sided p-value of the paired t-test


def main() -> None:
    """Print the published p-value beside that of Concord."""
    table = pl.read_csv(VALUES)
    topics = table["topic"].to_list()
    values = {
        run: {"AP": dict(zip(topics, table[run].to_list(), strict=True))}
        for run in ("run125", "run126")
    }
    comparison = cc.compare_values(values, baseline="run126", bounds={"AP": (0, 1)})
    pair = comparison.difference("run125", "run126", "AP")
    assert pair is not None
    print(f"difference  {pair.difference:.6f}")
    print(f"published p {PUBLISHED:.10f}")
    print(f"p           {pair.p:.10f}")


if __name__ == "__main__":
    main()
