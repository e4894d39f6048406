"""PyTorch-Ignite's rec_sys metrics on one row of scores and one of grades per user, over the whole catalogue."""

import torch
from adapter import Refusal, Value, matrix_problem, run, score_matrix
from ignite.metrics.rec_sys import NDCG, HitRate

METRICS = {"Hit": HitRate, "nDCG": NDCG}


def measure(case):
    """Yield each user alone for the values per user, all rows at once for the mean."""
    for name, metric in METRICS.items():
        users = [user for user, grades in case.truth.items() if counts(name, grades.values())]
        if reason := matrix_problem(case, users):
            yield from (Refusal("ignite", f"{name}@{k}", reason) for k in case.ks)
            continue
        scores = torch.tensor(score_matrix(case, users))
        grades = torch.zeros_like(scores)
        column = case.item_numbers()
        for row, user in enumerate(users):
            for item, grade in case.truth[user].items():
                grades[row, column[item]] = grade
        means = compute(metric(top_k=case.ks), scores, grades)
        pairs = zip(scores.split(1), grades.split(1), strict=True)
        alone = [compute(metric(top_k=case.ks), *pair) for pair in pairs]
        for k, mean, *values in zip(case.ks, means, *alone, strict=True):
            yield Value("ignite", f"{name}@{k}", dict(zip(users, values, strict=True)), mean)


def counts(name, grades):
    """True for a user whom the metric counts: one with a grade above 0, for nDCG of 1 or more."""
    return any(grade >= 1 if name == "nDCG" else grade > 0 for grade in grades)


def compute(metric, scores, grades):
    """Return the metric at each cutoff."""
    metric.update((scores, grades))
    return metric.compute()


if __name__ == "__main__":
    run(measure)
