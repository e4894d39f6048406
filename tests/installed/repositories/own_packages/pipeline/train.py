"""Neighbours of a customer's products, or what is bought most; one MLflow run a model."""

import collections
import json
import pathlib
import sys

import mlflow
import polars as pl

from pipeline.settings import settings

model = sys.argv[1]
train = pl.read_parquet("data/train.parquet")
baskets = collections.defaultdict(set)
for customer, product in train.rows():
    baskets[customer].add(product)
count = collections.Counter(product for basket in baskets.values() for product in basket)
beside = collections.defaultdict(collections.Counter)
for basket in baskets.values():
    for one in basket:
        beside[one].update(other for other in basket if other != one)
shrink = settings()[model]["shrink"]
pathlib.Path("out").mkdir(exist_ok=True)
with open(f"out/{model}.jsonl", "w") as file:
    for customer, basket in baskets.items():
        scores = collections.Counter()
        for product in basket:
            scores.update({o: n / (count[o] + shrink) for o, n in beside[product].items()})
        if model == "top_sellers":
            scores = count
        left = sorted((p for p in scores if p not in basket), key=lambda p: (-scores[p], p))[:10]
        file.write(json.dumps({"customer_id": customer, "products": left}) + "\n")
mlflow.set_tracking_uri("sqlite:///mlflow.db")
mlflow.set_experiment("training")
with mlflow.start_run(run_name=model) as run:
    mlflow.log_param("shrink", shrink)
pathlib.Path(f"out/{model}.run.json").write_text(json.dumps({"run_id": run.info.run_id}))
