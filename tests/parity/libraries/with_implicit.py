"""implicit's ranking_metrics_at_k on a model that answers with the lists as they are, filled up with -1."""

from collections.abc import Iterator

import numpy as np
from adapter import Case, Refusal, Value, run
from implicit.evaluation import ranking_metrics_at_k
from scipy.sparse import csr_matrix

NAMES = {"P": "precision", "AP": "map", "nDCG": "ndcg"}


class Lists:
    """What the evaluation asks of a model."""

    def __init__(self, ranked: list[list[int]]) -> None:
        self.ranked = ranked

    def recommend(self, userid, user_items, N=10, **_):  # noqa: N803
        """Ids and scores of the top N of each user."""
        ids = np.full((len(userid), N), -1, dtype=np.int32)
        for row, user in enumerate(userid):
            top = self.ranked[user][:N]
            ids[row, : len(top)] = top
        return ids, np.zeros_like(ids, dtype=np.float32)


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every metric at every cutoff; the library gives means only."""
    users = sorted({*case.lists, *case.truth})
    items = sorted(
        {i for rows in case.lists.values() for i, _ in rows}
        | {i for held in case.truth.values() for i in held}
    )
    number = {item: n for n, item in enumerate(items)}
    hits = [
        (row, number[item])
        for row, user in enumerate(users)
        for item, grade in case.truth.get(user, {}).items()
        if grade >= 1
    ]
    shape = (len(users), len(items))
    truth = csr_matrix((np.ones(len(hits)), tuple(zip(*hits, strict=True))), shape=shape)
    model = Lists([[number[i] for i, _ in case.lists.get(user, [])] for user in users])
    for k in case.ks:
        found = ranking_metrics_at_k(
            model, csr_matrix(shape), truth, K=k, show_progress=False, num_threads=1
        )
        for ours, theirs in NAMES.items():
            yield Value("implicit", f"{ours}@{k}", None, found[theirs])


if __name__ == "__main__":
    run(measure)
