"""scikit-learn's ndcg_score and dcg_score, one user at a time.

A score vector ranks everything, so a list becomes the scores of its items, and the relevant items that it lacks
score below them. A list that is shorter than k cannot be expressed: items that it lacks would rise into the top k.
Without k only lists that lack nothing can.
"""

from adapter import Refusal, Value, label, run
from sklearn.metrics import dcg_score, ndcg_score

PRESET = "sklearn_ndcg"


def measure(case):
    """Yield DCG and nDCG at every cutoff that the lists reach, and without one where they lack nothing."""
    shortest = min((len(rows) for rows in case.lists.values()), default=0)
    if case.name == "duplicates":
        yield Refusal(PRESET, "all", "a score vector holds each item once")
        return
    complete = all(set(grades) <= set(case.items_of(u)) for u, grades in case.truth.items())
    for k in [*case.ks, None]:
        for name, score in (("nDCG", ndcg_score), ("DCG", dcg_score)):
            if (shortest < k) if k else not complete:
                yield Refusal(PRESET, label(name, k), "a score vector cannot be shorter than k")
                continue
            users = {
                user: value(score, dict(rows), case.truth[user], k)
                for user, rows in case.lists.items()
                if user in case.truth
            }
            yield Value(PRESET, label(name, k), users, None)


def value(score, scores, truth, k):
    """Return the value of one user."""
    below = min(scores.values()) - 1.0
    items = list(scores | truth)
    grades = [[truth.get(item, 0) for item in items]]
    return score(grades, [[scores.get(item, below) for item in items]], k=k)


if __name__ == "__main__":
    run(measure)
