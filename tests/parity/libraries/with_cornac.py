"""Cornac's metrics, called for each user with the relevant items and the list as indices.

Cornac ranks the whole catalogue, and its MRR and MAP look at all of it: they are asked only where a list holds
every item of the truth.
"""

from collections.abc import Iterator

import numpy as np
from adapter import Case, Refusal, Value, label, run
from cornac import metrics

AT_K = {
    "P": metrics.Precision,
    "R": metrics.Recall,
    "F1": metrics.FMeasure,
    "Hit": metrics.HitRatio,
    "nDCG": metrics.NDCG,
}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every metric at every cutoff and without one (k=-1), for users with relevant items."""
    items = sorted(
        {i for rows in case.lists.values() for i, _ in rows}
        | {i for held in case.truth.values() for i in held}
    )
    number = {item: n for n, item in enumerate(items)}
    users = {}
    for user, held in case.truth.items():
        relevant = np.array([number[i] for i, grade in held.items() if grade >= 1], dtype=int)
        listed = [(number[i], score) for i, score in case.lists.get(user, [])]
        if len(relevant):
            users[user] = (relevant, listed)
    for name, metric in AT_K.items():
        for k in [*case.ks, None]:
            cut = metric(k=-1 if k is None else k)
            found = {user: _cut(cut, *data) for user, data in users.items()}
            yield Value("cornac", label(name, k), found, None)
    if case.name != "whole":
        yield Refusal("cornac", "AP, RR", "MAP and MRR want a rank for every item of the truth")
        return
    yield Value("cornac", "RR", {u: _cut(metrics.MRR(), *data) for u, data in users.items()}, None)
    yield Value("cornac", "AP", {u: _whole(*data) for u, data in users.items()}, None)


def _cut(metric, relevant, listed):
    ranked = np.array([item for item, _ in listed], dtype=int)
    return float(metric.compute(gt_pos=relevant, pd_rank=ranked))


def _whole(relevant, listed):
    indices = np.array([item for item, _ in listed])
    scores = np.array([score for _, score in listed])
    return float(metrics.MAP().compute(item_indices=indices, pd_scores=scores, gt_pos=relevant))


if __name__ == "__main__":
    run(measure)
