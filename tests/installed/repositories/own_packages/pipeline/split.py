"""Purchases of 200 customers, the last of each held out."""

import pathlib
import random

import polars as pl

draw = random.Random(7)
pathlib.Path("data").mkdir(exist_ok=True)
bought, held_out = [], []
for customer in range(200):
    taste = draw.randrange(5)
    likes = [f"P-{n:03}" for n in range(80) if n % 5 == taste]
    own = draw.sample(likes, 10) + draw.sample([f"P-{n:03}" for n in range(80)], 5)
    own = list(dict.fromkeys(own))
    draw.shuffle(own)
    bought += [(f"C{customer}", product) for product in own[:-4]]
    held_out += [(f"C{customer}", product) for product in own[-4:]]
names = ["customer_id", "product_id"]
pl.DataFrame(bought, schema=names, orient="row").write_parquet("data/train.parquet")
pl.DataFrame(held_out, schema=names, orient="row").write_parquet("data/holdout.parquet")
products = [f"P-{n:03}" for n in range(80)]
pl.DataFrame({"product_id": products, "title": products}).write_parquet("data/products.parquet")
customers = pl.DataFrame({"customer_id": [f"C{n}" for n in range(200)]})
customers.with_columns(plan=pl.Series(["free", "paid"] * 100)).write_parquet(
    "data/customers.parquet"
)
