"""Evidently's ranking metrics, fed with the rows that were retrieved: user, item, rank and grade.

A metric comes as a table of values for the cutoffs 1, 2, 3 …; its column `rank` is not read, because it is
one too high for NDCG and MRR. There are no values per user.
"""

from collections.abc import Iterator

import pandas as pd
from adapter import Case, Refusal, Value, run
from evidently import DataDefinition, Dataset, Recsys, Report
from evidently import metrics as evidently

PRESET = "evidently"
METRICS = {
    "P": evidently.PrecisionTopK,
    "R": evidently.RecallTopK,
    "F1": evidently.FBetaTopK,
    "Hit": evidently.HitRate,
    "AP": evidently.MAP,
    "RR": evidently.MRR,
    "nDCG": evidently.NDCG,
}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Means alone."""
    rows = _rows(case)
    for name, metric in METRICS.items():
        for k in case.ks:
            yield _value(rows, f"{name}@{k}", metric(k=k), k)


def _value(rows: Dataset, label: str, metric: evidently.recsys.TopKBase, k: int) -> Value | Refusal:
    try:
        (found,) = Report([metric]).run(rows, None).dict()["metrics"]
    except KeyError:
        return Refusal(PRESET, label, "KeyError: k is above the length of the longest list.")
    by_cutoff = list(found["value"]["value"].values())
    return Value(PRESET, label, None, by_cutoff[k - 1])


def _rows(case: Case) -> Dataset:
    rows = [
        (user, item, rank, case.truth.get(user, {}).get(item, 0))
        for user, items in case.lists.items()
        for rank, (item, _) in enumerate(items, start=1)
    ]
    return Dataset.from_pandas(
        pd.DataFrame(rows, columns=["user_id", "item_id", "prediction", "target"]),
        data_definition=DataDefinition(ranking=[Recsys(recommendations_type="rank")]),
    )


if __name__ == "__main__":
    run(measure)
