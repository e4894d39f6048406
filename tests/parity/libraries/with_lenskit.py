"""LensKit's RunAnalysis on item lists: values of each list, and their means."""

from adapter import Refusal, Value, label, run
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


def measure(case):
    """Yield every metric at every cutoff and without one, and the form with log2(rank + 1)."""
    lists = {
        user: ItemList(case.items_of(user), ordered=True)
        for user, rows in case.lists.items()
        if rows or case.name == "empty_lists"
    }
    truth = {user: ItemList(items) for user, items in case.relevant().items()}
    graded = {user: rated(grades) for user, grades in case.truth.items()}
    lists, truth, graded = (
        ItemListCollection.from_dict(each, key="user_id") for each in (lists, truth, graded)
    )
    weight = LogRankWeight(offset=1)
    for k in [*case.ks, None]:
        metrics = [("lenskit", label(name, k), metric(n=k)) for name, metric in AT_K.items()]
        metrics += [("lenskit", label("RBP(p=0.85)", k), RBP(n=k, patience=0.85))]
        metrics += [("lenskit_log2", label("DCG", k), DCG(n=k, weight=weight))]
        metrics += [("lenskit_log2", label("nDCG", k), NDCG(n=k, weight=weight))]
        metrics += [("lenskit_graded", label("DCG", k), DCG(n=k, gain="rating"))]
        metrics += [("lenskit_graded", label("nDCG", k), NDCG(n=k, gain="rating"))]
        for preset, name, metric in metrics:
            test = graded if preset == "lenskit_graded" else truth
            try:
                yield value(preset, name, metric, (lists, test))
            except Exception as error:
                yield Refusal(preset, name, f"{type(error).__name__}: {error}")


def rated(grades):
    """Return the items of a user's ground truth with their ratings."""
    return ItemList(list(grades), rating=[float(grade) for grade in grades.values()])


def value(preset, name, metric, data):
    """Return the values of one metric."""
    analysis = RunAnalysis()
    analysis.add_metric(metric, label="value")
    result = analysis.measure(*data)
    users = result.list_metrics()["value"]
    return Value(preset, name, dict(users.items()), result.list_summary().loc["value", "mean"])


if __name__ == "__main__":
    run(measure)
