"""RePlay's metrics on polars frames and on dictionaries."""

import polars as pl
from adapter import Refusal, Value, run
from replay import metrics

NAMES = {
    "P": metrics.Precision,
    "R": metrics.Recall,
    "Hit": metrics.HitRate,
    "AP": metrics.MAP,
    "RR": metrics.MRR,
    "nDCG": metrics.NDCG,
}


def measure(case):
    """Yield every metric at every cutoff, on frames and on dictionaries."""
    truth = case.relevant()
    listed = [(user, *row) for user, rows in case.lists.items() for row in rows]
    lists = pl.DataFrame(listed, schema=["query_id", "item_id", "rating"], orient="row")
    in_dicts = {user: rows for user, rows in case.lists.items() if rows}
    for name, metric in NAMES.items():
        yield from values("replay", name, metric, case.ks, lists, pairs(truth))
        yield from values("replay_dict", name, metric, case.ks, in_dicts, truth)
    if case.train is not None:
        train = pairs(case.train)
        yield from values("replay", "Novelty", metrics.Surprisal, case.ks, lists, train)


def pairs(items):
    """Return a frame of users and items."""
    rows = [(user, item) for user, held in items.items() for item in held]
    return pl.DataFrame(rows, schema=["query_id", "item_id"], orient="row")


def values(preset, name, metric, ks, *data):
    """Yield a metric at every cutoff; the library's keys are `Precision-PerUser@5` and `Precision@5`."""
    try:
        users = metric(ks, mode=metrics.PerUser())(*data)
        means = metric(ks)(*data)
    except Exception as error:
        yield Refusal(preset, name, f"{type(error).__name__}: {error}")
        return
    by_cutoff = {key.rsplit("@", 1)[1]: dict(each) for key, each in users.items()}
    for key, mean in means.items():
        k = key.rsplit("@", 1)[1]
        yield Value(preset, f"{name}@{k}", by_cutoff[k], mean)


if __name__ == "__main__":
    run(measure)
