"""XGBoost's ranking metrics of a model without trees, whose margins are the scores of the lists.

A group holds the documents that were scored, so that only relevant items of the list exist.
"""

import numpy as np
import xgboost
from adapter import Value, label, run

NAMES = {"nDCG": "ndcg", "AP": "map", "P": "pre"}
PARAMETERS = {"objective": "rank:pairwise", "base_score": 0.0, "verbosity": 0, "nthread": 1}


def measure(case):
    """Yield each group alone for the values per user, all groups at once for the mean."""
    listed = [user for user, rows in case.lists.items() if rows]
    for name, theirs in NAMES.items():
        metrics = {label(name, k): label(theirs, k) for k in [*case.ks, None]}
        every = evaluated(case, listed, list(metrics.values()), graded=name == "nDCG")
        alone = {
            user: evaluated(case, [user], list(metrics.values()), graded=name == "nDCG")
            for user in listed
            if case.name != "movielens"
        }
        for ours, key in metrics.items():
            users = {user: values[key] for user, values in alone.items()}
            yield Value("xgboost", ours, users or None, every[key])


def evaluated(case, users, metrics, graded):
    """Return the value of each metric; MAP and precision take grades of 0 and 1 only."""
    rows = [
        (score, case.truth.get(user, {}).get(i, 0))
        for user in users
        for i, score in case.lists[user]
    ]
    scores, grades = map(list, zip(*rows, strict=True))
    labels = [grade if graded else float(grade >= 1) for grade in grades]
    data = xgboost.DMatrix(np.zeros((len(rows), 1)), label=labels, base_margin=scores)
    data.set_group([len(case.lists[user]) for user in users])
    model = xgboost.train(PARAMETERS | {"eval_metric": metrics}, data, num_boost_round=0)
    parts = (part.rsplit(":", 1) for part in model.eval(data, "x").split("\t")[1:])
    return {name.removeprefix("x-"): float(value) for name, value in parts}


if __name__ == "__main__":
    run(measure)
