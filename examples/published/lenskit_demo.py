"""LensKit's demo experiment on MovieLens 100K: its printed means, LensKit's here and Concord's.

python examples/published/lenskit_lists.py u.data FOLDER
python examples/published/lenskit_demo.py FOLDER

The first command writes lists, ground truth and LensKit's means into FOLDER. The printed means, in
lenskit_demo.csv, are those of docs/guide/GettingStarted.ipynb in lenskit/lkpy, tag v2025.8.1
(MIT). Ratings and lists are not stored here: MovieLens 100K may not be redistributed.
"""

import sys
from pathlib import Path

import polars as pl

import concord as cc

PUBLISHED = Path(__file__).with_suffix(".csv")


def main(folder: str) -> None:
    """Print a row per model and metric."""
    keys = ["model", "metric"]
    printed = pl.read_csv(PUBLISHED, schema_overrides={"value": pl.String})
    table = printed.join(pl.read_csv(Path(folder, "means.csv")), on=keys, maintain_order="left")
    truth = Path(folder, "truth.parquet")
    print(f"{'model':<7}{'metric':<13}{'printed':<10}{'LensKit':<10}Concord")
    for model, rows in table.group_by("model", maintain_order=True):
        lists = Path(folder, f"{model[0]}.parquet")
        labels = rows["metric"].to_list()
        result = cc.evaluate(lists, truth, metrics=labels, conventions="lenskit")
        for _, label, value, lenskit in rows.iter_rows():
            print(f"{model[0]:<7}{label:<13}{value:<10}{lenskit:<10.6f}{result[label]:.6f}")


if __name__ == "__main__":
    main(sys.argv[1])
