"""LightGBM's ranking metrics of a model without trees, whose initial scores are the scores of the lists.

A query holds the documents that were scored, so that only relevant items of the list exist.
"""

import lightgbm
import numpy as np
from adapter import Value, run

NAMES = {"nDCG": "ndcg", "AP": "map"}


def measure(case):
    """Yield each query alone for the values per user, all queries at once for the mean."""
    listed = [user for user, rows in case.lists.items() if rows]
    every = evaluated(case, listed)
    alone = {user: evaluated(case, [user]) for user in listed if case.name != "movielens"}
    for ours, theirs in NAMES.items():
        for k in case.ks:
            key = f"{theirs}@{k}"
            users = {user: values[key] for user, values in alone.items()}
            yield Value("lightgbm", f"{ours}@{k}", users or None, every[key])


def evaluated(case, users):
    """Return the value of each metric at each cutoff."""
    rows = [
        (score, case.truth.get(user, {}).get(i, 0))
        for user in users
        for i, score in case.lists[user]
    ]
    scores, grades = map(list, zip(*rows, strict=True))
    parameters = {"objective": "lambdarank", "metric": list(NAMES.values()), "eval_at": case.ks}
    parameters |= {"verbose": -1, "num_threads": 1}
    data = lightgbm.Dataset(
        np.arange(len(rows), dtype=float)[:, None],
        label=grades,
        init_score=scores,
        group=[len(case.lists[user]) for user in users],
        params=parameters | {"feature_pre_filter": False, "min_data_in_bin": 1},
    )
    return {name: value for _, name, value, _ in lightgbm.Booster(parameters, data).eval_train()}


if __name__ == "__main__":
    run(measure)
