"""pytrec_eval: trec_eval's measures on dictionaries; users without a list have no key in the run.

It runs the C code of trec_eval, so that its values are those of both presets.
"""

import pytrec_eval
from adapter import Refusal, Value, run

AT_K = {"P": "P", "R": "recall", "Hit": "success", "AP": "map_cut", "nDCG": "ndcg_cut"}
WHOLE = {"AP": "map", "RR": "recip_rank", "nDCG": "ndcg", "Rprec": "Rprec", "Bpref": "bpref"}
WHOLE |= {"P": "set_P", "R": "set_recall", "F1": "set_F", "infAP": "infAP"}


def measure(case):
    """Yield every metric at every cutoff."""
    if case.name == "duplicates":
        for preset in ("pytrec_eval", "trec_eval"):
            yield Refusal(preset, "all", "a run is a dictionary: it cannot hold an item twice")
        return
    case = case.with_ids(str)
    cutoffs = ",".join(map(str, case.ks))
    measures = {f"{name}.{cutoffs}" for name in AT_K.values()} | set(WHOLE.values())
    qrels = {u: {i: int(g) for i, g in grades.items()} for u, grades in case.truth.items()}
    given = [(u, rows) for u, rows in case.lists.items() if rows or case.name == "empty_lists"]
    lists = {user: dict(rows) for user, rows in given}
    results = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(lists)
    labels = {f"{ours}@{k}": f"{theirs}_{k}" for ours, theirs in AT_K.items() for k in case.ks}
    for label, name in (labels | WHOLE).items():
        users = {user: values[name] for user, values in results.items()}
        mean = pytrec_eval.compute_aggregated_measure(name, list(users.values()))
        for preset in ("pytrec_eval", "trec_eval"):
            yield Value(preset, label, users, mean)


if __name__ == "__main__":
    run(measure)
