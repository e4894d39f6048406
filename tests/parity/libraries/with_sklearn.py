"""scikit-learn's ndcg_score and dcg_score, one user at a time.

A score vector ranks everything, so a list is given as the scores of its items, and the relevant items that it
lacks stand below them. A list that is shorter than k cannot be said: what it lacks would rise into the top k.
Without k only lists that lack nothing can.
"""

from collections.abc import Iterator

from adapter import Case, Refusal, Value, label, run
from sklearn.metrics import dcg_score, ndcg_score

PRESET = "sklearn_ndcg"


def measure(case: Case) -> Iterator[Value | Refusal]:
    """DCG and nDCG at every cutoff that the lists reach, and without one where they lack nothing."""
    shortest = min((len(rows) for rows in case.lists.values()), default=0)
    if case.name == "duplicates":
        yield Refusal(PRESET, "all", "a score vector holds each item once")
        return
    complete = all(
        set(held) <= {item for item, _ in case.lists.get(user, [])}
        for user, held in case.truth.items()
    )
    for k in [*case.ks, None]:
        for name, score in (("nDCG", ndcg_score), ("DCG", dcg_score)):
            if (shortest < k) if k else not complete:
                yield Refusal(PRESET, label(name, k), "a score vector cannot be shorter than k")
                continue
            users = {
                user: _of_one(score, rows, case.truth[user], k)
                for user, rows in case.lists.items()
                if user in case.truth
            }
            yield Value(PRESET, label(name, k), users, None)


def _of_one(score, rows, truth, k):
    scores = dict(rows)
    below = min(scores.values()) - 1.0
    items = [*scores, *(item for item in truth if item not in scores)]
    grades = [[truth.get(item, 0) for item in items]]
    return float(score(grades, [[scores.get(item, below) for item in items]], k=k))


if __name__ == "__main__":
    run(measure)
