"""RecTools' calc_per_user and calc on frames; the rank column is the order of the list."""

import pandas as pd
from adapter import Value, run
from rectools import metrics

METRICS = [
    ("rectools", "P", metrics.Precision, {}),
    ("rectools", "R", metrics.Recall, {}),
    ("rectools", "F1", metrics.F1Beta, {}),
    ("rectools", "Hit", metrics.HitRate, {}),
    ("rectools", "AP", metrics.MAP, {}),
    ("rectools", "RR", metrics.MRR, {}),
    ("rectools", "nDCG", metrics.NDCG, {}),
    ("rectools_achievable", "nDCG", metrics.NDCG, {"divide_by_achievable": True}),
    ("rectools_by_k", "AP", metrics.MAP, {"divide_by_k": True}),
    ("rectools_r_precision", "P", metrics.Precision, {"r_precision": True}),
]


def measure(case):
    """Yield every metric at every cutoff."""
    listed = [
        (user, item, rank)
        for user in case.lists
        for rank, item in enumerate(case.items_of(user), 1)
    ]
    recommended = pd.DataFrame(listed, columns=["user_id", "item_id", "rank"])
    truth = pairs(case.relevant())
    for k in case.ks:
        for preset, name, metric, options in METRICS:
            yield value(preset, f"{name}@{k}", metric(k=k, **options), recommended, truth)
    if case.train is not None:
        yield from beyond(case, recommended, truth)


def beyond(case, recommended, truth):
    """Yield the metrics that read the train and the catalogue."""
    train = pairs(case.train)
    catalogue = list(case.categories)
    categories = sorted({each for held in case.categories.values() for each in held})
    known = {item: held for item, held in case.categories.items() if held}
    features = pd.DataFrame(
        [[float(each in held) for each in categories] for held in known.values()],
        index=list(known),
        columns=categories,
    )
    hamming = metrics.PairwiseHammingDistanceCalculator(features)
    for k in case.ks:
        data = [
            ("Novelty", metrics.MeanInvUserFreq(k), (train,)),
            ("ARP", metrics.AvgRecPopularity(k), (train,)),
            ("Serendipity", metrics.Serendipity(k), (truth, train, catalogue)),
            ("ILD", metrics.IntraListDiversity(k, hamming), ()),
        ]
        for name, metric, others in data:
            yield value("rectools", f"{name}@{k}", metric, recommended, *others)
        coverage = metrics.CatalogCoverage(k, normalize=True).calc(recommended, catalogue)
        yield Value("rectools", f"Coverage@{k}", None, coverage)


def pairs(items):
    """Return a frame of users and items."""
    rows = [(user, item) for user, held in items.items() for item in held]
    return pd.DataFrame(rows, columns=["user_id", "item_id"])


def value(preset, label, metric, *data):
    """Return the values of one metric."""
    return Value(preset, label, metric.calc_per_user(*data).to_dict(), metric.calc(*data))


if __name__ == "__main__":
    run(measure)
