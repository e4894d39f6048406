"""napkinXC's propensity-scored metrics and the self-normalised estimator of the Open Bandit Pipeline.

    python propensities.py given.json made.json

given : lists, [[item, …], …]; truth, [[item, …], …]; propensities, one an item; k
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from napkinxc.metrics import psdcg_at_k, psprecision_at_k
from obp.ope import InverseProbabilityWeighting, SelfNormalizedInverseProbabilityWeighting

ESTIMATORS = {
    "ips": InverseProbabilityWeighting(),
    "snips": SelfNormalizedInverseProbabilityWeighting(),
}


def main() -> None:
    given, made = map(Path, sys.argv[1:3])
    made.write_text(json.dumps(measured(json.loads(given.read_text()))))


def measured(given: dict[str, Any]) -> dict[str, float]:
    """P and DCG of users; and of all relevant items as rounds of a bandit whose reward is a hit, or its discount."""
    lists, truth, k = given["lists"], given["truth"], given["k"]
    p = np.array(given["propensities"])
    how = {"inv_ps": 1 / p, "k": k, "normalize": False}
    found = {
        "P": float(psprecision_at_k(truth, lists, **how)[-1]),
        "DCG": float(psdcg_at_k(truth, lists, **how)[-1]),
    }
    ranks = [{item: rank for rank, item in enumerate(shown[:k], 1)} for shown in lists]
    rounds = [(ranks[user].get(item), item) for user, wanted in enumerate(truth) for item in wanted]
    rewards = {
        "R": [rank is not None for rank, _ in rounds],
        "DCG": [0.0 if rank is None else 1 / np.log2(rank + 1) for rank, _ in rounds],
    }
    nothing = np.zeros(len(rounds), dtype=int)
    for name, reward in rewards.items():
        for kind, estimator in ESTIMATORS.items():
            found[f"{kind} {name}"] = float(
                estimator.estimate_policy_value(
                    reward=np.array(reward, dtype=float),
                    action=nothing,
                    position=nothing,
                    pscore=p[[item for _, item in rounds]],
                    action_dist=np.ones((len(rounds), 1, 1)),
                )
            )
    return found


if __name__ == "__main__":
    main()
