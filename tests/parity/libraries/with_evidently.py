"""Evidently's ranking metrics on the rows that were retrieved: user, item, rank and grade.

A metric returns a table of values for the cutoffs 1, 2, 3 …; its column `rank` is not read, because it is
one too high for NDCG and MRR. There are no values per user.
"""

import pandas as pd
from adapter import Refusal, Value, run
from evidently import DataDefinition, Dataset, Recsys, Report
from evidently import metrics as evidently

METRICS = {
    "P": evidently.PrecisionTopK,
    "R": evidently.RecallTopK,
    "F1": evidently.FBetaTopK,
    "Hit": evidently.HitRate,
    "AP": evidently.MAP,
    "RR": evidently.MRR,
    "nDCG": evidently.NDCG,
}


def measure(case):
    """Yield means."""
    rows = [
        (user, item, rank, case.truth.get(user, {}).get(item, 0))
        for user in case.lists
        for rank, item in enumerate(case.items_of(user), start=1)
    ]
    data = Dataset.from_pandas(
        pd.DataFrame(rows, columns=["user_id", "item_id", "prediction", "target"]),
        data_definition=DataDefinition(ranking=[Recsys(recommendations_type="rank")]),
    )
    for name, metric in METRICS.items():
        for k in case.ks:
            try:
                (result,) = Report([metric(k=k)]).run(data, None).dict()["metrics"]
            except KeyError:
                reason = "KeyError: k is above the length of the longest list."
                yield Refusal("evidently", f"{name}@{k}", reason)
                continue
            by_cutoff = list(result["value"]["value"].values())
            yield Value("evidently", f"{name}@{k}", None, by_cutoff[k - 1])


if __name__ == "__main__":
    run(measure)
