"""scikit-learn's ndcg_score and dcg_score, one user at a time.

A score vector ranks everything, so a list is given as the scores of its items, and the relevant items that it
lacks stand below them. A list that is shorter than k cannot be said: what it lacks would rise into the top k.
"""

from collections.abc import Iterator

from adapter import Case, Refusal, Value, run
from sklearn.metrics import dcg_score, ndcg_score

PRESET = "sklearn_ndcg"


def measure(case: Case) -> Iterator[Value | Refusal]:
    """DCG and nDCG at every cutoff that the lists reach."""
    shortest = min((len(rows) for rows in case.lists.values()), default=0)
    if case.name == "duplicates":
        yield Refusal(PRESET, "all", "a score vector holds each item once")
        return
    for k in case.ks:
        for name, score in (("nDCG", ndcg_score), ("DCG", dcg_score)):
            if shortest < k:
                yield Refusal(PRESET, f"{name}@{k}", "a score vector cannot be shorter than k")
                continue
            users = {
                user: _of_one(score, rows, case.truth[user], k)
                for user, rows in case.lists.items()
                if user in case.truth
            }
            yield Value(PRESET, f"{name}@{k}", users, None)


def _of_one(score, rows, truth, k):
    scores = dict(rows)
    below = min(scores.values()) - 1.0
    items = [*scores, *(item for item in truth if item not in scores)]
    grades = [[truth.get(item, 0) for item in items]]
    return float(score(grades, [[scores.get(item, below) for item in items]], k=k))


if __name__ == "__main__":
    run(measure)
