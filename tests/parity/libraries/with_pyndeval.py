"""pyndeval, the Python interface of ndeval: metrics of subtopics."""

from adapter import Value, label, run
from pyndeval import RelevanceEvaluator

NAMES = {
    "StRecall": "strec",
    "alpha_DCG": "alpha-DCG",
    "alpha_nDCG": "alpha-nDCG",
    "ERR_IA": "ERR-IA",
    "nERR_IA": "nERR-IA",
}


def measure(case):
    """Yield values by query; the two metrics with a fixed alpha at 1/2 only."""
    labels = {label(name, k): f"{other}@{k}" for name, other in NAMES.items() for k in case["ks"]}
    labels |= {"NRBP": "NRBP", "nNRBP": "nNRBP"}
    scored = [
        (query, item, -float(rank))
        for query, items in case["lists"].items()
        for rank, item in enumerate(items)
    ]
    for alpha in {case["alpha"], 0.5}:
        evaluator = RelevanceEvaluator(
            [tuple(row) for row in case["qrels"]],
            labels.values(),
            relevance_level=case["rel"],
            alpha=alpha,
            beta=case["beta"],
        )
        queries = evaluator.evaluate(scored)
        for ours, theirs in labels.items():
            if ("ERR_IA" in ours and alpha == 0.5) or (
                "ERR_IA" not in ours and alpha == case["alpha"]
            ):
                yield Value(
                    "pyndeval", ours, {q: each[theirs] for q, each in queries.items()}, None
                )


if __name__ == "__main__":
    run(measure, read=dict)
