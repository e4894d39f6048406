"""Small repositories in the layout of others, with own data: files before `concord init`."""

from pathlib import Path
from random import Random
from typing import Any

import polars as pl

STAGES = ("final", "ranked", "reranked")


def write_nested_matrix(root: Path) -> None:
    """Write two data sets and three pipelines in LensKit's layout: a list of structs per user."""
    random = Random(1)
    for data_set, n_users in (("mini", 12), ("tiny", 16)):
        users = range(1, n_users + 1)
        held_out = {user: random.sample(range(1, 41), 5) for user in users}
        truth = [
            [{"item_id": i, "rating": random.randint(1, 10) / 2, "timestamp": i} for i in items]
            for items in held_out.values()
        ]
        _write_nested(root / f"data-split/{data_set}/test.parquet", truth)
        for name in ("als", "knn", "popular"):
            folder = root / f"runs/{data_set}-{name}"
            lists = [
                [
                    {"item_id": item, "rank": rank, "score": 1 / rank}
                    for rank, item in enumerate(random.sample(range(1, 41), 20), 1)
                ]
                for _ in users
            ]
            _write_nested(folder / "recs-eval.parquet", lists)
            if name != "popular":
                scored = [[row | {"score": random.random()} for row in rows] for rows in truth]
                _write_nested(folder / "pred-eval.parquet", scored)


def _write_nested(path: Path, lists: list[list[dict[str, Any]]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    users = range(1, len(lists) + 1)
    pl.DataFrame({"user_id": users, "items": lists}).write_parquet(path)


def write_slates(root: Path) -> None:
    """Write the clicks on slates and two models, each with three lists per slate in one table."""
    random = Random(2)
    slates = [f"s{number}" for number in range(16)]
    clicks = [(slate, f"a{item}") for slate in slates for item in random.sample(range(20), 3)]
    for data_set in ("march", "april"):
        for model in ("nrms", "popular"):
            rows = [
                (slate, stage, f"a{item}", rank)
                for slate in slates
                for stage in STAGES
                for rank, item in enumerate(random.sample(range(20), 10), 1)
            ]
            path = root / f"outputs/{data_set}/{model}/recommendations.parquet"
            path.parent.mkdir(parents=True)
            names = ["slate_id", "stage", "item_id", "rank"]
            pl.DataFrame(rows, schema=names, orient="row").write_parquet(path)
    path = root / "clicks/march.parquet"
    path.parent.mkdir()
    pl.DataFrame(clicks, schema=["slate_id", "item_id"], orient="row").write_parquet(path)
