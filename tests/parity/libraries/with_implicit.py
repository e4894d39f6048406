"""implicit's ranking_metrics_at_k on a model that returns the lists as they are, padded with -1."""

import numpy as np
from adapter import Value, run
from implicit.evaluation import ranking_metrics_at_k
from scipy.sparse import csr_matrix

NAMES = {"P": "precision", "AP": "map", "nDCG": "ndcg"}


class Lists:
    """A model with the one method that the evaluation calls."""

    def __init__(self, ranked):
        self.ranked = ranked

    def recommend(self, userid, user_items, N=10, **_):  # noqa: N803
        """Return ids and scores of the top N of each user."""
        ids = np.full((len(userid), N), -1, dtype=np.int32)
        for row, user in enumerate(userid):
            top = self.ranked[user][:N]
            ids[row, : len(top)] = top
        return ids, np.zeros_like(ids, dtype=np.float32)


def measure(case):
    """Yield every metric at every cutoff; the library gives only means."""
    users = sorted({*case.lists, *case.truth})
    number = case.item_numbers()
    relevant = case.relevant()
    cells = [(row, number[i]) for row, user in enumerate(users) for i in relevant.get(user, [])]
    shape = (len(users), len(number))
    truth = csr_matrix((np.ones(len(cells)), tuple(zip(*cells, strict=True))), shape=shape)
    model = Lists([[number[item] for item in case.items_of(user)] for user in users])
    for k in case.ks:
        means = ranking_metrics_at_k(
            model, csr_matrix(shape), truth, K=k, show_progress=False, num_threads=1
        )
        for name, theirs in NAMES.items():
            yield Value("implicit", f"{name}@{k}", None, means[theirs])


if __name__ == "__main__":
    run(measure)
