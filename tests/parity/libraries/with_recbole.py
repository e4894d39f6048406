"""RecBole's Collector and Evaluator on one row of scores per user over the whole catalogue."""

import numpy as np
import torch
from adapter import Refusal, Value, matrix_problem, run, score_matrix

np.float = float  # RecBole 1.2.1 still uses the name that numpy removed in 1.24
from recbole.evaluator import Collector, Evaluator  # noqa: E402

NAMES = {"P": "precision", "R": "recall", "Hit": "hit", "AP": "map", "RR": "mrr", "nDCG": "ndcg"}


def measure(case):
    """Yield each user's values from the metric's matrix, the means from the evaluator (rounded)."""
    truth = {user: items for user, items in case.relevant().items() if items}
    if reason := matrix_problem(case, truth):
        yield from (Refusal("recbole", f"{name}@{k}", reason) for name in NAMES for k in case.ks)
        return
    config = {
        "metrics": list(NAMES.values()),
        "topk": case.ks,
        "metric_decimal_place": 4,
        "eval_args": {"mode": "full"},
        "device": "cpu",
    }
    column = case.item_numbers()
    positive = [(row, column[i]) for row, items in enumerate(truth.values()) for i in items]
    collector = Collector(config)
    scores = torch.tensor(score_matrix(case, truth))
    collector.eval_batch_collect(scores, None, *torch.tensor(positive).T)
    data = collector.get_data_struct()
    evaluator = Evaluator(config)
    means = evaluator.evaluate(data)
    for name, theirs in NAMES.items():
        metric = evaluator.metric_class[theirs]
        hits, lengths = metric.used_info(data)
        takes_lengths = metric.metric_info.__code__.co_argcount == 3
        matrix = metric.metric_info(hits, lengths) if takes_lengths else metric.metric_info(hits)
        for k in case.ks:
            users = dict(zip(truth, matrix[:, k - 1], strict=True))
            yield Value("recbole", f"{name}@{k}", users, means[f"{theirs}@{k}"])


if __name__ == "__main__":
    run(measure)
