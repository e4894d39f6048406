"""pytrec_eval: trec_eval's measures on dictionaries; users without list have no key in the run."""

from collections.abc import Iterator

import pytrec_eval
from adapter import Case, Refusal, Value, in_text, run

AT_K = {"P": "P", "R": "recall", "Hit": "success", "AP": "map_cut", "nDCG": "ndcg_cut"}
WHOLE = {"AP": "map", "RR": "recip_rank", "nDCG": "ndcg", "Rprec": "Rprec", "Bpref": "bpref"}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every metric at every cutoff."""
    if case.name == "duplicates":
        yield Refusal("pytrec_eval", "all", "a run is a dictionary: it cannot hold an item twice")
        return
    case = in_text(case)
    cutoffs = ",".join(map(str, case.ks))
    measures = {f"{name}.{cutoffs}" for name in AT_K.values()} | set(WHOLE.values())
    qrels = {
        user: {item: int(grade) for item, grade in items.items()}
        for user, items in case.truth.items()
    }
    lists = {user: dict(rows) for user, rows in case.lists.items() if rows}
    found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(lists)
    asked = {f"{ours}@{k}": f"{theirs}_{k}" for ours, theirs in AT_K.items() for k in case.ks}
    for label, name in (asked | WHOLE).items():
        users = {user: values[name] for user, values in found.items()}
        mean = pytrec_eval.compute_aggregated_measure(name, list(users.values()))
        yield Value("pytrec_eval", label, users, mean)


if __name__ == "__main__":
    run(measure)
