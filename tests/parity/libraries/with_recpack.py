"""RecPack's metrics on sparse matrices: relevant items as 1, and lists as scores."""

from adapter import Refusal, Value, run
from recpack import metrics
from scipy.sparse import csr_matrix

METRICS = [
    ("recpack", "P", metrics.PrecisionK),
    ("recpack", "R", metrics.RecallK),
    ("recpack", "Hit", metrics.HitK),
    ("recpack", "RR", metrics.ReciprocalRankK),
    ("recpack", "DCG", metrics.DCGK),
    ("recpack", "nDCG", metrics.NDCGK),
    ("recpack_calibrated", "R", metrics.CalibratedRecallK),
]


def measure(case):
    """Yield every metric at every cutoff."""
    if case.name == "duplicates":
        yield Refusal("recpack", "all", "a matrix holds each item once")
        return
    users = sorted({*case.lists, *case.truth})
    number = case.item_numbers()
    lists = matrix(users, number, case.lists)
    relevant = {user: [(item, 1.0) for item in items] for user, items in case.relevant().items()}
    truth = matrix(users, number, relevant)
    for preset, name, metric_at in METRICS:
        for k in case.ks:
            metric = metric_at(k)
            metric.calculate(truth, lists)
            rows = metric.results.groupby("user_id")["score"]
            scores = rows.sum() if name == "Hit" else rows.first()  # HitK has one row per item
            values = {users[row]: score for row, score in scores.items()}
            yield Value(preset, f"{name}@{k}", values, metric.value)


def matrix(users, number, values):
    """Return a row per user and a column per item."""
    cells = [
        (row, number[item], score)
        for row, user in enumerate(users)
        for item, score in values.get(user, [])
    ]
    rows, columns, scores = zip(*cells, strict=True)
    return csr_matrix((scores, (rows, columns)), shape=(len(users), len(number)))


if __name__ == "__main__":
    run(measure)
