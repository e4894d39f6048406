"""torchmetrics.retrieval, fed with the rows that were retrieved: index, score and target of each listed item."""

from collections.abc import Iterator

import torch
from adapter import Case, Refusal, Value, label, run
from torchmetrics import retrieval

PRESET = "torchmetrics"
AT_K = {
    "P": retrieval.RetrievalPrecision,
    "R": retrieval.RetrievalRecall,
    "Hit": retrieval.RetrievalHitRate,
    "AP": retrieval.RetrievalMAP,
    "RR": retrieval.RetrievalMRR,
    "nDCG": retrieval.RetrievalNormalizedDCG,
}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Each user alone for the values per user, all rows at once for the mean."""
    for name, metric in AT_K.items():
        for k in [*case.ks, None]:
            yield _value(case, label(name, k), metric(top_k=k), graded=name == "nDCG")
    yield _value(case, "Rprec", retrieval.RetrievalRPrecision(), graded=False)


def _value(case: Case, name: str, metric: retrieval.base.RetrievalMetric, *, graded: bool) -> Value:
    listed = [user for user, items in case.lists.items() if items]
    users = {user: _of(metric, case, [user], graded=graded) for user in listed}
    return Value(PRESET, name, users, _of(metric, case, listed, graded=graded))


def _of(
    metric: retrieval.base.RetrievalMetric, case: Case, users: list[str], *, graded: bool
) -> float:
    rows = [
        (index, score, _target(case, user, item, graded=graded))
        for index, user in enumerate(users)
        for item, score in case.lists[user]
    ]
    indexes, scores, targets = zip(*rows, strict=True)
    metric.reset()
    metric.update(torch.tensor(scores), torch.tensor(targets), torch.tensor(indexes))
    return metric.compute().item()


def _target(case: Case, user: str, item: str, *, graded: bool) -> int:
    grade = case.truth.get(user, {}).get(item, 0)
    return int(grade) if graded else int(grade >= 1)


if __name__ == "__main__":
    run(measure)
