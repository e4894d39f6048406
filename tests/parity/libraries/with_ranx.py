"""ranx, as its documentation calls it: Qrels and Run from dictionaries, make_comparable=True."""

from collections.abc import Iterator

from adapter import Case, Refusal, Value, in_text, run
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
WHOLE = {**AT_K, "Rprec": "r-precision", "Bpref": "bpref"}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every metric at every cutoff."""
    if case.name == "duplicates":
        yield Refusal("ranx", "all", "a run is a dictionary: it cannot hold an item twice")
        return
    case = in_text(case)
    asked = {f"{ours}@{k}": f"{theirs}@{k}" for ours, theirs in AT_K.items() for k in case.ks}
    asked |= WHOLE | {"RBP(p=0.8)": "rbp.80"}
    yield from _measured(case, "ranx", asked)
    burges = {f"{n}@{k}": f"{n.lower()}_burges@{k}" for n in ("DCG", "nDCG") for k in case.ks}
    burges |= {n: f"{n.lower()}_burges" for n in ("DCG", "nDCG")}
    yield from _measured(case, "ranx_burges", burges)


def _measured(case: Case, preset: str, asked: dict[str, str]) -> Iterator[Value | Refusal]:
    truth = {user: {i: int(g) for i, g in items.items()} for user, items in case.truth.items()}
    lists = {user: dict(rows) for user, rows in case.lists.items() if rows}
    qrels = Qrels(truth)
    for label, name in asked.items():
        answers = Run(lists)
        mean = evaluate(qrels, answers, name, make_comparable=True, save_results_in_run=True)
        users = {user: float(value) for user, value in answers.scores[name].items()}
        yield Value(preset, label, users, float(mean))


if __name__ == "__main__":
    run(measure)
