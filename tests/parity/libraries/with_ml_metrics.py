"""Kaggle's ml_metrics: apk of each user, mapk over all."""

from adapter import Value, run
from ml_metrics import apk, mapk


def measure(case):
    """Yield AP at every cutoff, for all users of the truth."""
    truth = case.relevant()
    predicted = [case.items_of(user) for user in truth]
    for k in case.ks:
        users = {
            u: apk(items, p, k) for (u, items), p in zip(truth.items(), predicted, strict=True)
        }
        yield Value("kaggle_ml_metrics", f"AP@{k}", users, mapk(list(truth.values()), predicted, k))


if __name__ == "__main__":
    run(measure)
