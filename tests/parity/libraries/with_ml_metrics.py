"""Kaggle's ml_metrics: apk of each user, mapk over all."""

from collections.abc import Iterator

from adapter import Case, Refusal, Value, run
from ml_metrics import apk, mapk

PRESET = "kaggle_ml_metrics"


def measure(case: Case) -> Iterator[Value | Refusal]:
    """AP at every cutoff, for all users of the truth."""
    users = list(case.truth)
    actual = [[i for i, grade in case.truth[u].items() if grade >= 1] for u in users]
    predicted = [[i for i, _ in case.lists.get(u, [])] for u in users]
    for k in case.ks:
        each = {u: apk(a, p, k) for u, a, p in zip(users, actual, predicted, strict=True)}
        yield Value(PRESET, f"AP@{k}", each, mapk(actual, predicted, k))


if __name__ == "__main__":
    run(measure)
