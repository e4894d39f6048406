"""Microsoft recommenders' functions on pandas frames; they give means, so each user is also evaluated alone.

Every row of the truth is relevant to these functions, so graded truth is passed as it is.
"""

import pandas as pd
from adapter import Value, run
from recommenders.evaluation import python_evaluation as evaluation

MAIN = "ms_recommenders"
FUNCTIONS = [
    (MAIN, "P", evaluation.precision_at_k, {}),
    (MAIN, "R", evaluation.recall_at_k, {}),
    (MAIN, "AP", evaluation.map, {}),
    (MAIN, "nDCG", evaluation.ndcg_at_k, {}),
    ("ms_recommenders_map_at_k", "AP", evaluation.map_at_k, {}),
    ("ms_recommenders_raw", "nDCG", evaluation.ndcg_at_k, {"score_type": "raw"}),
    ("ms_recommenders_exp", "nDCG", evaluation.ndcg_at_k, {"score_type": "exp"}),
]
ALONE = {"clean", "graded", "short"}  # where all users have lists and truth


def measure(case):
    """Yield every function at every cutoff."""
    listed = [(user, *row) for user, rows in case.lists.items() for row in rows]
    judged = [(user, *pair) for user, grades in case.truth.items() for pair in grades.items()]
    lists = pd.DataFrame(listed, columns=["userID", "itemID", "prediction"])
    truth = pd.DataFrame(judged, columns=["userID", "itemID", "rating"])
    alone = {
        user: (truth[truth.userID == user], lists[lists.userID == user])
        for user in case.truth
        if case.name in ALONE
    }
    for preset, name, function, options in FUNCTIONS:
        for k in case.ks:
            users = {user: function(*frames, k=k, **options) for user, frames in alone.items()}
            mean = function(truth, lists, k=k, **options)
            yield Value(preset, f"{name}@{k}", users or None, mean)


if __name__ == "__main__":
    run(measure)
