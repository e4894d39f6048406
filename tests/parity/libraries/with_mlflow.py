"""MLflow's retriever metrics, fed with one row a user of the truth: the retrieved ids and the relevant ids."""

from collections.abc import Iterator

import pandas as pd
from adapter import Case, Refusal, Value, run
from mlflow.metrics import ndcg_at_k, precision_at_k, recall_at_k

PRESET = "mlflow_retriever"
AT_K = {"P": precision_at_k, "R": recall_at_k, "nDCG": ndcg_at_k}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every user of the truth, [] for those without list."""
    users = list(case.truth)
    retrieved = pd.Series([[item for item, _ in case.lists.get(user, [])] for user in users])
    relevant = pd.Series(
        [[item for item, grade in case.truth[user].items() if grade >= 1] for user in users]
    )
    for name, at_k in AT_K.items():
        for k in case.ks:
            found = at_k(k).eval_fn(retrieved, relevant)
            scores = dict(zip(users, found.scores, strict=True))
            yield Value(PRESET, f"{name}@{k}", scores, found.aggregate_results["mean"])


if __name__ == "__main__":
    run(measure)
