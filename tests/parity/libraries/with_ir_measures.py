"""ir_measures with its default providers, on dictionaries."""

import ir_measures
from adapter import Refusal, Value, run

ON_JUDGED = "(judged_only=True)"
WHOLE = ["AP", "RR", "nDCG", "Rprec", "Bpref", "infAP", "Judged", "RBP(p=0.8,rel=1)"]
WHOLE += [name + ON_JUDGED for name in ("AP", "RR", "nDCG", "Rprec")]
AT_K = ["P", "R", "Success", "AP", "RR", "nDCG", "RBP(p=0.8)", "ERR", "Judged"]
AT_K += [name + ON_JUDGED for name in ("P", "R", "AP", "nDCG")]


def measure(case):
    """Yield every metric at every cutoff."""
    if case.name == "duplicates":
        yield Refusal("ir_measures", "all", "a run is a dictionary: it cannot hold an item twice")
        return
    case = case.with_ids(str)
    numbers = {user: str(n) for n, user in enumerate(sorted({*case.truth, *case.lists}), 1)}
    users = {number: user for user, number in numbers.items()}  # gdeval needs numbers as topics
    qrels = {numbers[u]: {i: int(g) for i, g in held.items()} for u, held in case.truth.items()}
    lists = {numbers[user]: dict(rows) for user, rows in case.lists.items()}
    for preset, name, theirs in labels(case.ks):
        metric = ir_measures.parse_measure(theirs)
        try:
            rows = list(ir_measures.iter_calc([metric], qrels, lists))
            mean = ir_measures.calc_aggregate([metric], qrels, lists)[metric]
        except Exception as error:
            yield Refusal(preset, name, f"{type(error).__name__}: {error}")
            continue
        yield Value(preset, name, {users[row.query_id]: row.value for row in rows}, mean)


def labels(ks):
    """Yield preset, Concord's label and the library's."""
    for name in [*WHOLE, *(f"{name}@{k}" for name in AT_K for k in ks)]:
        yield "ir_measures", name.replace("True", "true").replace("Success", "Hit"), name
    for name, theirs in {"P": "SetP", "R": "SetR", "F1": "SetF"}.items():
        yield "ir_measures", name, theirs
    for k in ks:
        yield "ir_measures_exp", f"nDCG@{k}", f"nDCG(dcg='exp-log2')@{k}"


if __name__ == "__main__":
    run(measure)
