"""RecTools' calc_per_user and calc on frames; the rank column is the order of the list."""

from collections.abc import Iterator

import pandas as pd
from adapter import Case, Refusal, Value, run
from rectools import metrics

AT_K = {
    "P": metrics.Precision,
    "R": metrics.Recall,
    "F1": metrics.F1Beta,
    "Hit": metrics.HitRate,
    "AP": metrics.MAP,
    "RR": metrics.MRR,
    "nDCG": metrics.NDCG,
}
VARIANTS = {
    "rectools_achievable": ("nDCG", metrics.NDCG, {"divide_by_achievable": True}),
    "rectools_by_k": ("AP", metrics.MAP, {"divide_by_k": True}),
    "rectools_r_precision": ("P", metrics.Precision, {"r_precision": True}),
}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every metric at every cutoff, and each variant of its own metric."""
    listed = [
        (user, item, rank)
        for user, rows in case.lists.items()
        for rank, (item, _) in enumerate(rows, 1)
    ]
    held = [
        (user, item)
        for user, items in case.truth.items()
        for item, grade in items.items()
        if grade >= 1
    ]
    reco = pd.DataFrame(listed, columns=["user_id", "item_id", "rank"])
    truth = pd.DataFrame(held, columns=["user_id", "item_id"])
    for k in case.ks:
        asked = [("rectools", name, metric(k=k)) for name, metric in AT_K.items()]
        asked += [(p, name, metric(k=k, **how)) for p, (name, metric, how) in VARIANTS.items()]
        for preset, name, metric in asked:
            users = metric.calc_per_user(reco, truth).to_dict()
            yield Value(preset, f"{name}@{k}", users, metric.calc(reco, truth))
    if case.train is not None:
        yield from _beyond(case, reco, truth)


def _beyond(case: Case, reco: pd.DataFrame, truth: pd.DataFrame) -> Iterator[Value]:
    """The metrics that read the train and the catalogue."""
    rows = [(user, item) for user, held in case.train.items() for item in held]
    train = pd.DataFrame(rows, columns=["user_id", "item_id"])
    catalogue = list(case.categories)
    kinds = sorted({kind for held in case.categories.values() for kind in held})
    features = pd.DataFrame(
        [[float(kind in held) for kind in kinds] for held in case.categories.values()],
        index=catalogue,
        columns=kinds,
    )
    hamming = metrics.PairwiseHammingDistanceCalculator(features)
    for k in case.ks:
        asked = [
            ("Novelty", metrics.MeanInvUserFreq(k), (train,)),
            ("ARP", metrics.AvgRecPopularity(k), (train,)),
            ("Serendipity", metrics.Serendipity(k), (truth, train, catalogue)),
        ]
        asked += [("ILD", metrics.IntraListDiversity(k, hamming), ())] if k > 1 else []
        for name, metric, given in asked:
            users = metric.calc_per_user(reco, *given).to_dict()
            yield Value("rectools", f"{name}@{k}", users, metric.calc(reco, *given))
        coverage = metrics.CatalogCoverage(k, normalize=True).calc(reco, catalogue)
        yield Value("rectools", f"Coverage@{k}", None, coverage)


if __name__ == "__main__":
    run(measure)
