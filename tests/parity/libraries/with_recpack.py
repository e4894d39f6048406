"""RecPack's metrics on sparse matrices: relevant items as 1, and lists as scores."""

from collections.abc import Iterator

from adapter import Case, Refusal, Value, run
from recpack import metrics
from scipy.sparse import csr_matrix

NAMES = {
    "P": metrics.PrecisionK,
    "R": metrics.RecallK,
    "Hit": metrics.HitK,
    "RR": metrics.ReciprocalRankK,
    "DCG": metrics.DCGK,
    "nDCG": metrics.NDCGK,
}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every metric at every cutoff."""
    if case.name == "duplicates":
        yield Refusal("recpack", "all", "a matrix holds each item once")
        return
    users = sorted({*case.lists, *case.truth})
    items = sorted(
        {i for rows in case.lists.values() for i, _ in rows}
        | {i for held in case.truth.values() for i in held}
    )
    number = {item: n for n, item in enumerate(items)}
    lists = _matrix(users, number, {user: dict(rows) for user, rows in case.lists.items()})
    relevant = {
        user: {i: 1.0 for i, grade in held.items() if grade >= 1}
        for user, held in case.truth.items()
    }
    truth = _matrix(users, number, relevant)
    for k in case.ks:
        for name, metric in NAMES.items():
            yield _value("recpack", f"{name}@{k}", metric(k), users, truth, lists)
        calibrated = metrics.CalibratedRecallK(k)
        yield _value("recpack_calibrated", f"R@{k}", calibrated, users, truth, lists)


def _matrix(users, number, values):
    cells = [
        (row, number[item], score)
        for row, user in enumerate(users)
        for item, score in values.get(user, {}).items()
    ]
    rows, columns, scores = zip(*cells, strict=True)
    return csr_matrix((scores, (rows, columns)), shape=(len(users), len(number)))


def _value(preset, label, metric, users, truth, lists):
    metric.calculate(truth, lists)
    rows = metric.results.groupby("user_id")["score"]
    scores = rows.sum() if label.startswith("Hit") else rows.first()  # HitK has a row an item
    return Value(preset, label, {users[row]: s for row, s in scores.items()}, float(metric.value))


if __name__ == "__main__":
    run(measure)
