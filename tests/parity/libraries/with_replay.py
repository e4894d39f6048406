"""RePlay's metrics on polars frames and on dictionaries."""

from collections.abc import Iterator

import polars as pl
from adapter import Case, Refusal, Value, run
from replay import metrics

NAMES = {
    "P": metrics.Precision,
    "R": metrics.Recall,
    "Hit": metrics.HitRate,
    "AP": metrics.MAP,
    "RR": metrics.MRR,
    "nDCG": metrics.NDCG,
}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Every metric at every cutoff, on frames and on dictionaries."""
    held = {
        user: [item for item, grade in items.items() if grade >= 1]
        for user, items in case.truth.items()
    }
    listed = [(user, *row) for user, rows in case.lists.items() for row in rows]
    rows = [(user, item) for user, items in held.items() for item in items]
    lists = pl.DataFrame(listed, schema=["query_id", "item_id", "rating"], orient="row")
    truth = pl.DataFrame(rows, schema=["query_id", "item_id"], orient="row")
    yield from _measured(case, "replay", lists, truth)
    if case.train is not None:
        rows = [(user, item) for user, held in case.train.items() for item in held]
        train = pl.DataFrame(rows, schema=["query_id", "item_id"], orient="row")
        yield from _surprisal(case, lists, train)
    given = {user: list(rows) for user, rows in case.lists.items() if rows}
    yield from _measured(case, "replay_dict", given, held)


def _measured(case: Case, preset: str, lists, truth) -> Iterator[Value | Refusal]:
    for name, metric in NAMES.items():
        try:
            each = metric(case.ks, mode=metrics.PerUser())(lists, truth)
            mean = metric(case.ks)(lists, truth)
        except Exception as error:
            yield Refusal(preset, name, f"{type(error).__name__}: {error}")
            continue
        users = {key.rsplit("@", 1)[1]: values for key, values in _by_k(each).items()}
        for key, value in mean.items():
            k = key.rsplit("@", 1)[1]
            yield Value(preset, f"{name}@{k}", users[k], value)


def _surprisal(case: Case, lists: pl.DataFrame, train: pl.DataFrame) -> Iterator[Value]:
    each = metrics.Surprisal(case.ks, mode=metrics.PerUser())(lists, train)
    mean = metrics.Surprisal(case.ks)(lists, train)
    users = {key.rsplit("@", 1)[1]: values for key, values in _by_k(each).items()}
    for key, value in mean.items():
        k = key.rsplit("@", 1)[1]
        yield Value("replay", f"Novelty@{k}", users[k], value)


def _by_k(found):
    """`Precision-PerUser@5` -> {user: value}."""
    return {key: dict(values) for key, values in found.items()}


if __name__ == "__main__":
    run(measure)
