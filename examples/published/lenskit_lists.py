"""LensKit's demo experiment: lists of two models, their ground truth and LensKit's means.

python examples/published/lenskit_lists.py u.data FOLDER

It runs with LensKit 2025.8.1, fastest with LK_NUM_PROCS=1 in the environment. u.data is the file of
MovieLens 100K: user, item, rating and time, with tabs. FOLDER gets ALS.parquet, II.parquet,
truth.parquet and means.csv. Models, splits and metrics are those of LensKit's page "Getting
Started"; the seed is added, and RBP has the patience that was the default when the page was run.
"""

import csv
import sys
from pathlib import Path

import pandas as pd
from lenskit.als import BiasedMFScorer
from lenskit.batch import recommend
from lenskit.data import ItemListCollection, UserIDKey, from_interactions_df
from lenskit.knn import ItemKNNScorer
from lenskit.metrics import NDCG, RBP, RecipRank, RunAnalysis
from lenskit.pipeline import topn_pipeline
from lenskit.random import set_global_rng
from lenskit.splitting import SampleFrac, crossfold_users

SEED = 1
METRICS = {"nDCG": NDCG(), "RBP(p=0.5)": RBP(patience=0.5), "RR": RecipRank()}


def main(ratings: str, folder: str) -> None:
    """Cross-validate both models, and write lists, ground truth and means."""
    set_global_rng(SEED)
    rows = pd.read_table(ratings, names=["user_id", "item_id", "rating"], usecols=[0, 1, 2])
    data = from_interactions_df(rows.sort_values(["user_id", "item_id"]))
    pipelines = {
        "ALS": topn_pipeline(BiasedMFScorer(features=50)),
        "II": topn_pipeline(ItemKNNScorer(k=20)),
    }
    lists = {name: ItemListCollection(UserIDKey) for name in pipelines}
    truth = ItemListCollection(UserIDKey)
    for split in crossfold_users(data, 5, SampleFrac(0.2)):
        truth.add_from(split.test)
        for name, pipeline in pipelines.items():
            trained = pipeline.clone()
            trained.train(split.train)
            lists[name].add_from(recommend(trained, split.test.keys(), 100))
    Path(folder).mkdir(exist_ok=True)
    write(truth, Path(folder, "truth.parquet"))
    with Path(folder, "means.csv").open("w", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "metric", "value"])
        for name, collection in lists.items():
            write(collection, Path(folder, f"{name}.parquet"))
            for label, value in compute_means(collection, truth).items():
                writer.writerow([name, label, f"{value:.6f}"])


def compute_means(lists: ItemListCollection, truth: ItemListCollection) -> dict[str, float]:
    """Return LensKit's mean of each metric."""
    analysis = RunAnalysis()
    for label, metric in METRICS.items():
        analysis.add_metric(metric, label=label)
    return analysis.measure(lists, truth).list_metrics().mean().to_dict()


def write(lists: ItemListCollection, path: Path) -> None:
    """Write user, item and, of recommendations, rank."""
    table = lists.to_df()
    columns = {"user_id": "user", "item_id": "item", "rank": "rank"}
    present = [column for column in columns if column in table]
    table[present].rename(columns=columns).to_parquet(path, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
