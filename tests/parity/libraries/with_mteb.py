"""mteb, `calculate_retrieval_scores`: its file alone, because the package imports PyTorch.

`with_mteb_old_ties.py` runs it with a version before the change of MRR's ties.
"""

import importlib.util
import sys
import types
from importlib.metadata import distribution
from typing import Any, NamedTuple

from adapter import Refusal, Value, run

PRESET = "mteb"
FIELDS = "all_scores ndcg map recall precision naucs mrr naucs_mrr hit_rate"
MEANS = {
    "P": "precision",
    "R": "recall",
    "Hit": "hit_rate",
    "AP": "map",
    "nDCG": "ndcg",
    "RR": "mrr",
}
PER_QUERY = {"P": "P", "R": "recall", "Hit": "success", "AP": "map_cut", "nDCG": "ndcg_cut"}


def load_module():
    """Return mteb's module of retrieval metrics; the only name that it imports is a named tuple."""
    result = NamedTuple("RetrievalEvaluationResult", [(name, Any) for name in FIELDS.split()])
    sys.modules["mteb"] = types.ModuleType("mteb")
    sys.modules["mteb.types"] = types.ModuleType("mteb.types")
    sys.modules["mteb.types"].RetrievalEvaluationResult = result
    path = distribution("mteb").locate_file("mteb/_evaluators/retrieval_metrics.py")
    spec = importlib.util.spec_from_file_location("retrieval_metrics", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = load_module()


def measure(case, preset=PRESET):
    """Yield every metric at every cutoff; queries without any judgement raise and are left out."""
    if case.name == "duplicates":
        yield Refusal(preset, "all", "a run is a dictionary: it cannot hold an item twice")
        return
    case = case.with_ids(str)
    qrels = {
        u: {i: int(g) for i, g in grades.items()} for u, grades in case.truth.items() if grades
    }
    lists = {user: dict(rows) for user, rows in case.lists.items() if rows and user in qrels}
    results = MODULE.calculate_retrieval_scores(lists, qrels, case.ks)
    mrr = MODULE.mrr(qrels, lists, case.ks)
    for k in case.ks:
        users = {
            name: {user: values[f"{theirs}_{k}"] for user, values in results.all_scores.items()}
            for name, theirs in PER_QUERY.items()
        }
        users["RR"] = dict(zip(lists, mrr[f"MRR@{k}"], strict=True))
        for name, theirs in MEANS.items():
            (key,) = (key for key in getattr(results, theirs) if key.endswith(f"@{k}"))
            yield Value(preset, f"{name}@{k}", users[name], getattr(results, theirs)[key])


if __name__ == "__main__":
    run(measure)
