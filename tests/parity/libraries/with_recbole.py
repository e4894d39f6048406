"""RecBole's Collector and Evaluator, fed with one row of scores a user over the whole catalogue.

Ten items that nobody wants stand below every list, so that a short list ends in misses.
"""

from collections.abc import Iterator

import numpy as np
import torch
from adapter import Case, Refusal, Value, run

np.float = float  # RecBole 1.2.1 still names what numpy took out in 1.24
from recbole.evaluator import Collector, Evaluator  # noqa: E402

PRESET = "recbole"
NAMES = {"P": "precision", "R": "recall", "Hit": "hit", "AP": "map", "RR": "mrr", "nDCG": "ndcg"}
COUNTS_RELEVANT = {"R", "AP", "nDCG"}


def measure(case: Case) -> Iterator[Value | Refusal]:
    """Each user's values from the metric's matrix, the means from the evaluator (rounded)."""
    wanted = {
        user: [item for item, grade in truth.items() if grade >= 1]
        for user, truth in case.truth.items()
    }
    wanted = {user: items for user, items in wanted.items() if items}
    why = _cannot_be_given(case, list(wanted))
    if why:
        yield from (Refusal(PRESET, f"{name}@{k}", why) for name in NAMES for k in case.ks)
        return
    config = {
        "metrics": list(NAMES.values()),
        "topk": case.ks,
        "metric_decimal_place": 4,
        "eval_args": {"mode": "full"},
        "device": "cpu",
    }
    collected = _collected(case, wanted, config)
    evaluator = Evaluator(config)
    means = evaluator.evaluate(collected)
    for name, theirs in NAMES.items():
        metric = evaluator.metric_class[theirs]
        hits, lengths = metric.used_info(collected)
        takes_lengths = metric.metric_info.__code__.co_argcount == 3
        matrix = metric.metric_info(hits, lengths) if takes_lengths else metric.metric_info(hits)
        for k in case.ks:
            users = dict(zip(wanted, matrix[:, k - 1], strict=True))
            yield Value(PRESET, f"{name}@{k}", users, means[f"{theirs}@{k}"])


def _cannot_be_given(case: Case, users: list[str]) -> str:
    lists = [[item for item, _ in case.lists.get(user, [])] for user in users]
    if not all(lists):
        return "Every user has a row of scores; a user without list cannot be given."
    if any(len(set(items)) < len(items) for items in lists):
        return "An item has one column of scores; a list with copies cannot be given."
    return ""


def _collected(case: Case, wanted: dict[str, list[str]], config: dict):
    listed = {item for user in wanted for item, _ in case.lists[user]}
    catalogue = sorted(listed.union(*wanted.values()))
    column = {item: index for index, item in enumerate(catalogue)}
    scores = torch.full((len(wanted), len(catalogue) + max(case.ks)), -torch.inf)
    scores[:, len(catalogue) :] = 0.0
    for row, user in enumerate(wanted):
        for item, score in case.lists[user]:
            scores[row, column[item]] = score
    positive = [(row, column[item]) for row, items in enumerate(wanted.values()) for item in items]
    rows, columns = torch.tensor(positive).T
    collector = Collector(config)
    collector.eval_batch_collect(scores, None, rows, columns)
    return collector.get_data_struct()


if __name__ == "__main__":
    run(measure)
