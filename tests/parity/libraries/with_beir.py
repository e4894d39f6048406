"""BEIR, `EvaluateRetrieval.evaluate` and `evaluate_custom`: means with five digits.

Ids of queries and documents are alike in some cases, so that `ignore_identical_ids` is off.
"""

from adapter import Refusal, Value, run
from beir.retrieval.evaluation import EvaluateRetrieval

MEANS = {"nDCG": "NDCG", "AP": "MAP", "R": "Recall", "P": "P"}  # in the order of `evaluate`
CUSTOM = [  # preset, label, argument and key of `evaluate_custom`
    ("beir", "RR", "mrr", "MRR"),
    ("beir", "Hit", "accuracy", "Accuracy"),
    ("beir_r_cap", "R", "r_cap", "R_cap"),
]


def measure(case):
    """Yield every metric at every cutoff; lists without judgements raise and are left out."""
    if case.name == "duplicates":
        for preset in ("beir", "beir_r_cap"):
            yield Refusal(preset, "all", "a run is a dictionary: it cannot hold an item twice")
        return
    case = case.with_ids(str)
    qrels = {u: {i: int(g) for i, g in grades.items()} for u, grades in case.truth.items()}
    lists = {user: dict(rows) for user, rows in case.lists.items() if rows and user in qrels}
    results = EvaluateRetrieval.evaluate(qrels, lists, case.ks, ignore_identical_ids=False)
    for (name, key), means in zip(MEANS.items(), results, strict=True):
        for k in case.ks:
            yield Value("beir", f"{name}@{k}", None, means[f"{key}@{k}"])
    for preset, name, argument, key in CUSTOM:
        try:
            means = EvaluateRetrieval.evaluate_custom(qrels, lists, case.ks, argument)
        except ZeroDivisionError:
            yield Refusal(preset, name, "a query without a relevant document divides by 0")
            continue
        for k in case.ks:
            yield Value(preset, f"{name}@{k}", None, means[f"{key}@{k}"])


if __name__ == "__main__":
    run(measure)
