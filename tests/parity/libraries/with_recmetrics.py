"""recmetrics' mark ("mean average recall", an average precision): all users, and each alone."""

from adapter import Value, run
from recmetrics import mark


def measure(case):
    """Yield AP at every cutoff, for all users of the truth."""
    truth = case.relevant()
    predicted = [case.items_of(user) for user in truth]
    for k in case.ks:
        users = {
            user: mark([items], [p], k)
            for (user, items), p in zip(truth.items(), predicted, strict=True)
        }
        yield Value("recmetrics_mark", f"AP@{k}", users, mark(list(truth.values()), predicted, k))


if __name__ == "__main__":
    run(measure)
