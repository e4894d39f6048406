"""recmetrics' mark ("mean average recall", an average precision): all users, and each alone."""

from collections.abc import Iterator

from adapter import Case, Refusal, Value, run
from recmetrics import mark

PRESET = "recmetrics_mark"


def measure(case: Case) -> Iterator[Value | Refusal]:
    """AP at every cutoff, for all users of the truth."""
    users = list(case.truth)
    actual = [[i for i, grade in case.truth[u].items() if grade >= 1] for u in users]
    predicted = [[i for i, _ in case.lists.get(u, [])] for u in users]
    for k in case.ks:
        each = {u: mark([a], [p], k) for u, a, p in zip(users, actual, predicted, strict=True)}
        yield Value(PRESET, f"AP@{k}", each, mark(actual, predicted, k))


if __name__ == "__main__":
    run(measure)
