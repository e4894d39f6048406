"""ir_measures with its default providers, on dictionaries."""

from collections.abc import Iterator

import ir_measures
from adapter import Case, Refusal, Value, in_text, run

ON_JUDGED = "(judged_only=True)"
WHOLE = ["AP", "RR", "nDCG", "Rprec", "Bpref", "Judged", "RBP(p=0.8,rel=1)"]
WHOLE += [name + ON_JUDGED for name in ("AP", "RR", "nDCG", "Rprec")]
AT_K = ["P", "R", "Success", "AP", "RR", "nDCG", "RBP(p=0.8)", "ERR", "Judged"]
AT_K += [name + ON_JUDGED for name in ("P", "R", "AP", "nDCG")]
OURS = {"Success": "Hit"}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every metric at every cutoff."""
    if case.name == "duplicates":
        yield Refusal("ir_measures", "all", "a run is a dictionary: it cannot hold an item twice")
        return
    case = in_text(case)
    names = WHOLE + [f"{name}@{k}" for name in AT_K for k in case.ks]
    asked = {name: _ours(name) for name in names}
    yield from _measured(case, "ir_measures", asked)
    exponential = {f"nDCG(dcg='exp-log2')@{k}": f"nDCG@{k}" for k in case.ks}
    yield from _measured(case, "ir_measures_exp", exponential)


def _ours(name: str) -> str:
    stem, at, k = name.replace("True", "true").partition("@")
    return OURS.get(stem, stem) + at + k


def _measured(case: Case, preset: str, asked: dict[str, str]) -> Iterator[Value | Refusal]:
    users = {user: str(n) for n, user in enumerate(sorted({*case.truth, *case.lists}), 1)}
    names = {number: user for user, number in users.items()}  # gdeval wants numbers as topics
    qrels = {
        users[user]: {item: int(grade) for item, grade in items.items()}
        for user, items in case.truth.items()
    }
    lists = {users[user]: dict(rows) for user, rows in case.lists.items()}
    for theirs, label in asked.items():
        measure_ = ir_measures.parse_measure(theirs)
        try:
            values = ir_measures.iter_calc([measure_], qrels, lists)
            found = {names[metric.query_id]: metric.value for metric in values}
            mean = ir_measures.calc_aggregate([measure_], qrels, lists)[measure_]
        except Exception as error:
            yield Refusal(preset, label, f"{type(error).__name__}: {error}")
            continue
        yield Value(preset, label, found, mean)


if __name__ == "__main__":
    run(measure)
