"""Microsoft recommenders' functions on pandas frames; they give means, so each user is also asked alone.

Every row of the truth is relevant to these functions, so graded truth goes in as it is.
"""

from collections.abc import Iterator

import pandas as pd
from adapter import Case, Refusal, Value, run
from recommenders.evaluation import python_evaluation as evaluation

MAIN = "ms_recommenders"
ASKED = [
    (MAIN, "P", evaluation.precision_at_k, {}),
    (MAIN, "R", evaluation.recall_at_k, {}),
    (MAIN, "AP", evaluation.map, {}),
    (MAIN, "nDCG", evaluation.ndcg_at_k, {}),
    ("ms_recommenders_map_at_k", "AP", evaluation.map_at_k, {}),
    ("ms_recommenders_raw", "nDCG", evaluation.ndcg_at_k, {"score_type": "raw"}),
    ("ms_recommenders_exp", "nDCG", evaluation.ndcg_at_k, {"score_type": "exp"}),
]
ALONE = {"clean", "graded", "short"}  # where all users have lists and truth


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every function at every cutoff."""
    listed = [(user, *row) for user, rows in case.lists.items() for row in rows]
    held = [(user, *pair) for user, items in case.truth.items() for pair in items.items()]
    lists = pd.DataFrame(listed, columns=["userID", "itemID", "prediction"])
    truth = pd.DataFrame(held, columns=["userID", "itemID", "rating"])
    alone = sorted(case.truth) if case.name in ALONE else []
    for preset, name, function, how in ASKED:
        for k in case.ks:
            users = {
                user: function(truth[truth.userID == user], lists[lists.userID == user], k=k, **how)
                for user in alone
            }
            yield Value(preset, f"{name}@{k}", users or None, function(truth, lists, k=k, **how))


if __name__ == "__main__":
    run(measure)
