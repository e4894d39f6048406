"""Cornac's metrics, called for each user with the relevant items and the list as indices.

Cornac ranks the whole catalogue, and its MRR and MAP look at all of it: they are called only where a list holds
every item of the truth.
"""

import numpy as np
from adapter import Refusal, Value, label, run
from cornac import metrics

AT_K = {
    "P": metrics.Precision,
    "R": metrics.Recall,
    "F1": metrics.FMeasure,
    "Hit": metrics.HitRatio,
    "nDCG": metrics.NDCG,
}


def measure(case):
    """Yield every metric at every cutoff and without one (k=-1), for users with relevant items."""
    number = case.item_numbers()
    users = {
        user: (
            np.array([number[item] for item in items]),
            np.array([number[item] for item in case.items_of(user)], dtype=int),
        )
        for user, items in case.relevant().items()
        if items
    }
    for name, metric in AT_K.items():
        for k in [*case.ks, None]:
            yield value(label(name, k), metric(k=-1 if k is None else k), users)
    if case.name != "whole":
        yield Refusal("cornac", "AP, RR", "MAP and MRR need a rank for every item of the truth")
        return
    yield value("RR", metrics.MRR(), users)
    average = {
        user: metrics.MAP().compute(
            item_indices=ranked,
            pd_scores=np.array([score for _, score in case.lists[user]]),
            gt_pos=relevant,
        )
        for user, (relevant, ranked) in users.items()
    }
    yield Value("cornac", "AP", average, None)


def value(name, metric, users):
    """Return the values of one metric."""
    values = {user: metric.compute(gt_pos=gt, pd_rank=pd) for user, (gt, pd) in users.items()}
    return Value("cornac", name, values, None)


if __name__ == "__main__":
    run(measure)
