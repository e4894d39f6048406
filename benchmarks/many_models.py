"""CPU time of `concord.compare_values`: models x 10 metrics x 100,000 users, as frames.

Imports and the values do not count. `python -m benchmarks.many_models 20` prints JSON.
"""

import json
import sys
import time

import numpy as np
import polars as pl

import concord
from concord.pipeline.running.messages import peak_memory

USERS = 100_000
METRICS = [f"{name}@{k}" for name in ("nDCG", "R", "AP", "RR", "Hit") for k in (10, 20)]
SHARED = 0.7  # share of the draws that all models have in common


def main() -> None:
    """Compare as many models as the argument says."""
    n_models = int(sys.argv[1])
    values = _values(n_models)
    compare = concord.compare_values  # imports it
    start, cpu = time.perf_counter(), time.process_time()
    comparison = compare(values, baseline="model-0", primary=METRICS[:2], min_effect=0.005)
    cost = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps({**cost, "peak": (peak_memory() or 0) / 1e6, "value": len(comparison.pairs)}))


def _values(n_models: int) -> dict[str, pl.DataFrame]:
    """Return values like those of ranking metrics: mostly zeros, correlated between models."""
    rng = np.random.default_rng(138)
    luck = rng.random(USERS)
    values = {}
    for skill in range(n_models):
        draws = np.where(rng.random(USERS) < SHARED, luck, rng.random(USERS))
        hit = draws < 0.25 + 0.01 * skill
        columns = {name: np.where(hit, rng.integers(1, 40, USERS) / 40, 0.0) for name in METRICS}
        values[f"model-{skill}"] = pl.DataFrame({"user": np.arange(USERS), **columns})
    return values


if __name__ == "__main__":
    main()
