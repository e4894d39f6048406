"""MLflow's retriever metrics on one row per user of the truth: the retrieved ids and the relevant ids."""

import pandas as pd
from adapter import Value, run
from mlflow.metrics import ndcg_at_k, precision_at_k, recall_at_k

AT_K = {"P": precision_at_k, "R": recall_at_k, "nDCG": ndcg_at_k}


def measure(case):
    """Yield every metric at every cutoff; [] for users without a list."""
    truth = case.relevant()
    retrieved = pd.Series([case.items_of(user) for user in truth])
    relevant = pd.Series(list(truth.values()))
    for name, at_k in AT_K.items():
        for k in case.ks:
            result = at_k(k).eval_fn(retrieved, relevant)
            users = dict(zip(truth, result.scores, strict=True))
            mean = result.aggregate_results["mean"]
            yield Value("mlflow_retriever", f"{name}@{k}", users, mean)


if __name__ == "__main__":
    run(measure)
