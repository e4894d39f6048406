"""napkinXC's propensity-scored metrics, and two estimators of the Open Bandit Pipeline.

Every relevant item is a round of the bandit, its reward a hit in the top k or the discount of its rank; the policy
always takes the action of the round.
"""

import numpy as np
from adapter import Value, run
from napkinxc.metrics import psdcg_at_k, psprecision_at_k
from obp.ope import InverseProbabilityWeighting, SelfNormalizedInverseProbabilityWeighting

ESTIMATORS = {
    "obp_ips": InverseProbabilityWeighting(),
    "obp_snips": SelfNormalizedInverseProbabilityWeighting(),
}


def measure(case):
    """Yield means."""
    lists, truth, k = case["lists"], case["truth"], case["k"]
    p = np.array(case["propensities"])
    for label, metric in (("P", psprecision_at_k), ("DCG", psdcg_at_k)):
        mean = metric(truth, lists, inv_ps=1 / p, k=k, normalize=False)[-1]
        yield Value("napkinxc", label, None, mean)
    ranks = [{item: rank for rank, item in enumerate(items[:k], 1)} for items in lists]
    rounds = [(ranks[u].get(item, np.inf), item) for u, items in enumerate(truth) for item in items]
    rank, item = (np.array(column) for column in zip(*rounds, strict=True))
    zeros = np.zeros(len(rounds), dtype=int)
    for label, reward in (("R", 1.0 * (rank <= k)), ("DCG", 1 / np.log2(rank + 1))):
        for preset, estimator in ESTIMATORS.items():
            mean = estimator.estimate_policy_value(
                reward=reward,
                action=zeros,
                position=zeros,
                pscore=p[item.astype(int)],
                action_dist=np.ones((len(rounds), 1, 1)),
            )
            yield Value(preset, label, None, mean)


if __name__ == "__main__":
    run(measure, read=dict)
