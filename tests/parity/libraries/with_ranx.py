"""ranx as its documentation calls it: Qrels and Run from dictionaries, make_comparable=True."""

from adapter import Refusal, Value, label, run
from ranx import Qrels, Run, evaluate

AT_K = {
    "P": "precision",
    "R": "recall",
    "F1": "f1",
    "Hit": "hit_rate",
    "AP": "map",
    "RR": "mrr",
    "DCG": "dcg",
    "nDCG": "ndcg",
}
BURGES = {"DCG": "dcg_burges", "nDCG": "ndcg_burges"}
WHOLE = {"Rprec": "r-precision", "Bpref": "bpref", "RBP(p=0.8)": "rbp.80"}


def measure(case):
    """Yield every metric at every cutoff and without one."""
    if case.name == "duplicates":
        yield Refusal("ranx", "all", "a run is a dictionary: it cannot hold an item twice")
        return
    case = case.with_ids(str)
    qrels = Qrels({u: dict(grades) for u, grades in case.truth.items()})
    lists = {user: dict(rows) for user, rows in case.lists.items() if rows}
    metrics = [("ranx", ours, theirs) for ours, theirs in WHOLE.items()]
    for preset, names in (("ranx", AT_K), ("ranx_burges", BURGES)):
        for ours, theirs in names.items():
            metrics += [(preset, label(ours, k), label(theirs, k)) for k in [*case.ks, None]]
    for preset, ours, theirs in metrics:
        answers = Run(lists)
        mean = evaluate(qrels, answers, theirs, make_comparable=True, save_results_in_run=True)
        yield Value(preset, ours, answers.scores[theirs], mean)


if __name__ == "__main__":
    run(measure)
