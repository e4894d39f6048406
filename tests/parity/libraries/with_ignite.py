"""PyTorch-Ignite's rec_sys metrics, fed with one row of scores and grades a user over the whole catalogue.

Ten items that nobody wants stand below every list, so that a short list ends in misses.
"""

from collections.abc import Iterator

import torch
from adapter import Case, Refusal, Value, run
from ignite.metrics.rec_sys import NDCG, HitRate

PRESET = "ignite"
METRICS = {"Hit": HitRate, "nDCG": NDCG}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Each user alone for the values per user, all rows at once for the mean."""
    users = [user for user, truth in case.truth.items() if any(g >= 1 for g in truth.values())]
    why = _cannot_be_given(case, users)
    if why:
        yield from (Refusal(PRESET, f"{name}@{k}", why) for name in METRICS for k in case.ks)
        return
    scores, grades = _matrices(case, users)
    for name, metric in METRICS.items():
        means = _of(metric(top_k=case.ks), scores, grades)
        alone = [
            _of(metric(top_k=case.ks), scores[row : row + 1], grades[row : row + 1])
            for row in range(len(users))
        ]
        for index, k in enumerate(case.ks):
            values = {user: found[index] for user, found in zip(users, alone, strict=True)}
            yield Value(PRESET, f"{name}@{k}", values, means[index])


def _cannot_be_given(case: Case, users: list[str]) -> str:
    lists = [[item for item, _ in case.lists.get(user, [])] for user in users]
    if not all(lists):
        return "Every user has a row of scores; a user without list cannot be given."
    if any(len(set(items)) < len(items) for items in lists):
        return "An item has one column of scores; a list with copies cannot be given."
    return ""


def _matrices(case: Case, users: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    listed = {item for user in users for item, _ in case.lists[user]}
    catalogue = sorted(listed.union(*(case.truth[user] for user in users)))
    column = {item: index for index, item in enumerate(catalogue)}
    scores = torch.full((len(users), len(catalogue) + max(case.ks)), -torch.inf)
    scores[:, len(catalogue) :] = 0.0
    grades = torch.zeros_like(scores)
    for row, user in enumerate(users):
        for item, score in case.lists[user]:
            scores[row, column[item]] = score
        for item, grade in case.truth[user].items():
            grades[row, column[item]] = grade
    return scores, grades


def _of(metric: HitRate | NDCG, scores: torch.Tensor, grades: torch.Tensor) -> list[float]:
    metric.update((scores, grades))
    return metric.compute()


if __name__ == "__main__":
    run(measure)
