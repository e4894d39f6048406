"""Make the excerpt of the demo data that the package ships: `make_excerpt.py [FOLDER]`.

It has every fourth user with all their rows, and all items.
"""

import gzip
import sys
from pathlib import Path

import polars as pl

DEMO = Path(__file__).parent
EXCERPT = DEMO.parents[1] / "concord" / "datasets" / "demo"
EVERY = 4


def main(folder: Path) -> None:
    """Write a parquet file for each model and each table."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {name: pl.read_parquet(DEMO / f"{name}.parquet") for name in ("truth", "train")}
    users = pl.read_parquet(DEMO / "users.parquet").gather_every(EVERY)
    for name, frame in {**_models(), **tables}.items():
        excerpt = frame.join(users.select("user"), on="user", how="semi", maintain_order="left")
        _write(excerpt.sort("user", maintain_order=True), folder, name)
    _write(users, folder, "users")
    _write(pl.read_parquet(DEMO / "items.parquet"), folder, "items")


def _models() -> dict[str, pl.DataFrame]:
    """Return the recommendations of each model: user, item, and score, rank or both."""
    popularity = pl.read_csv(DEMO / "popularity.csv")
    ease = pl.read_ndjson(gzip.decompress((DEMO / "ease.jsonl.gz").read_bytes()))
    run = pl.read_csv(
        DEMO / "als.run.gz",
        separator=" ",
        has_header=False,
        new_columns=["user", "Q0", "item", "rank", "score", "tag"],
    )
    return {
        "popularity": popularity.rename(
            {"customer": "user", "product": "item", "position": "rank"}
        ),
        "item-knn": pl.read_parquet(DEMO / "item-knn.parquet"),
        "ease": ease.rename({"items": "item", "scores": "score"}).explode("item", "score"),
        "ease-recent": pl.read_parquet(DEMO / "ease-recent" / "*.parquet"),
        "als": run.drop("Q0", "tag"),
    }


def _write(frame: pl.DataFrame, folder: Path, name: str) -> None:
    frame.write_parquet(folder / f"{name}.parquet", compression="zstd", compression_level=19)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else EXCERPT)
