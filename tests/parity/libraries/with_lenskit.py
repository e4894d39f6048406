"""LensKit's RunAnalysis on item lists: values of each list, and their means."""

from collections.abc import Iterator

from adapter import Case, Refusal, Value, label, run
from lenskit.data import ItemList, ItemListCollection
from lenskit.metrics import DCG, NDCG, RBP, Hit, Precision, Recall, RecipRank, RunAnalysis
from lenskit.metrics.ranking import AveragePrecision, LogRankWeight

AT_K = {
    "P": Precision,
    "R": Recall,
    "Hit": Hit,
    "AP": AveragePrecision,
    "RR": RecipRank,
    "DCG": DCG,
    "nDCG": NDCG,
}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every metric at every cutoff and without one, and the form with log2(rank + 1)."""
    for k in [*case.ks, None]:
        asked = [("lenskit", label(name, k), metric(n=k)) for name, metric in AT_K.items()]
        asked.append(("lenskit", label("RBP(p=0.85)", k), RBP(n=k, patience=0.85)))
        weight = LogRankWeight(offset=1)
        asked += [("lenskit_log2", label("DCG", k), DCG(n=k, weight=weight))]
        asked += [("lenskit_log2", label("nDCG", k), NDCG(n=k, weight=weight))]
        for preset, name, metric in asked:
            try:
                yield _value(case, preset, name, metric)
            except Exception as error:
                yield Refusal(preset, name, f"{type(error).__name__}: {error}")


def _value(case: Case, preset: str, name: str, metric) -> Value:
    lists = {
        user: ItemList([item for item, _ in rows], ordered=True)
        for user, rows in case.lists.items()
        if rows
    }
    truth = {
        user: ItemList([item for item, grade in held.items() if grade >= 1])
        for user, held in case.truth.items()
    }
    analysis = RunAnalysis()
    analysis.add_metric(metric, label="value")
    found = analysis.measure(
        ItemListCollection.from_dict(lists, key="user_id"),
        ItemListCollection.from_dict(truth, key="user_id"),
    )
    users = found.list_metrics()["value"]
    mean = found.list_summary().loc["value", "mean"]
    return Value(preset, name, dict(users.items()), float(mean))


if __name__ == "__main__":
    run(measure)
