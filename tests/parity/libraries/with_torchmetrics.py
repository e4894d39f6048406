"""torchmetrics.retrieval on the rows that were retrieved: index, score and target of each listed item."""

import torch
from adapter import Value, label, run
from torchmetrics import retrieval

AT_K = {
    "P": retrieval.RetrievalPrecision,
    "R": retrieval.RetrievalRecall,
    "Hit": retrieval.RetrievalHitRate,
    "AP": retrieval.RetrievalMAP,
    "RR": retrieval.RetrievalMRR,
    "nDCG": retrieval.RetrievalNormalizedDCG,
}


def measure(case):
    """Yield each user alone for the values per user, all rows at once for the mean."""
    metrics = [
        (label(name, k), metric(top_k=k)) for name, metric in AT_K.items() for k in [*case.ks, None]
    ]
    listed = [user for user, rows in case.lists.items() if rows]
    for name, metric in [*metrics, ("Rprec", retrieval.RetrievalRPrecision())]:
        graded = name.startswith("nDCG")
        users = {user: value(metric, case, [user], graded) for user in listed}
        yield Value("torchmetrics", name, users, value(metric, case, listed, graded))


def value(metric, case, users, graded):
    """Return the mean over users."""
    rows = [
        (index, score, case.truth.get(user, {}).get(item, 0))
        for index, user in enumerate(users)
        for item, score in case.lists[user]
    ]
    indexes, scores, grades = zip(*rows, strict=True)
    targets = [float(grade) if graded else int(grade >= 1) for grade in grades]
    metric.reset()
    metric.update(torch.tensor(scores), torch.tensor(targets), torch.tensor(indexes))
    return metric.compute().item()


if __name__ == "__main__":
    run(measure)
